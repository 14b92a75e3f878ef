// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "hwy/targets.h"
#include "ops/gemm/gemm.h"
#include "support/gemm_tester.h"
#include "support/op_tester.h"

// A product with quantized weights has the same bits as the product with the floats they stand for.
namespace attnrun::testing {
namespace {

struct Format {
  int64_t k;
  int64_t n;
  int bits;
  int64_t block;
  bool zero_points;
};

class NBitGemmTest : public ::testing::TestWithParam<Format> {
 protected:
  NBitGemmTest() {
    std::mt19937 generator(Seed());
    codes_.resize(f_.n * blocks_ * f_.block * f_.bits / 8);
    for (uint8_t& byte : codes_) byte = static_cast<uint8_t>(generator());
    std::normal_distribution<float> normal;
    scales_.resize(f_.n * blocks_);
    points_.resize(f_.n * blocks_);
    for (float& scale : scales_) scale = normal(generator);
    for (float& point : points_) point = static_cast<float>(generator() % (1 << f_.bits));
    a_.resize(kRows * f_.k);
    for (float& x : a_) x = normal(generator);
    bias_.resize(f_.n);
    for (float& x : bias_) x = normal(generator);
    epilogue_.bias = bias_.data();
    epilogue_.residual = {a_.data(), kRows, f_.n, 1};
    epilogue_.activation = {ops::UnaryFunction::kSwish, 1};
    packed_ = ops::NBitPanels::Pack({Columns(0, f_.n)}).value();
  }
  ~NBitGemmTest() override { SetNumThreads(threads_); }

  ops::NBitColumns Columns(int64_t first, int64_t count) const {
    const int64_t block = first * blocks_;
    return {f_.bits,
            f_.block,
            f_.k,
            count,
            codes_.data() + block * f_.block * f_.bits / 8,
            scales_.data() + block,
            f_.zero_points ? points_.data() + block : nullptr};
  }

  // The dequantized weight, [K, N].
  std::vector<float> Floats() const {
    std::vector<float> floats(f_.k * f_.n);
    for (int64_t i = 0; i < f_.k * f_.n; ++i) {
      const int64_t column = i % f_.n;
      const int64_t k = i / f_.n;
      const int64_t block = column * blocks_ + k / f_.block;
      const int64_t bit = (column * blocks_ * f_.block + k) * f_.bits;
      const int code = codes_[bit / 8] >> bit % 8 & ((1 << f_.bits) - 1);
      const float point = f_.zero_points ? points_[block] : static_cast<float>(1 << (f_.bits - 1));
      floats[i] = (static_cast<float>(code) - point) * scales_[block];
    }
    return floats;
  }

  template <typename B>
  std::vector<float> Product(const B& b, int64_t first, int64_t rows) const {
    std::vector<float> c(rows * f_.n, NAN);
    ops::Gemm({a_.data() + first * f_.k, rows, f_.k, f_.k}, b, c.data(), f_.n, epilogue_);
    return c;
  }

  static constexpr int64_t kRows = 140;
  const Format f_ = GetParam();
  const int64_t blocks_ = (f_.k + f_.block - 1) / f_.block;
  const int threads_ = NumThreads();
  std::vector<uint8_t> codes_;
  std::vector<float> scales_;
  std::vector<float> points_;
  std::vector<float> a_;
  std::vector<float> bias_;
  ops::Epilogue epilogue_;
  std::shared_ptr<const ops::NBitPanels> packed_;
};

TEST_P(NBitGemmTest, HasTheSameBitsAsFloats) {
  const std::vector<float> floats = Floats();
  const PackedWeight b = PackForFewRows({floats.data(), f_.k, f_.n, f_.n});
  for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{5}, kRows}) {
    epilogue_.residual = {a_.data(), rows, f_.n, 1};
    EXPECT_EQ(Product(*packed_, 0, rows), Product(*b, 0, rows)) << rows;
  }
}

TEST_P(NBitGemmTest, DoesNotDependOnThreadsOrOtherRows) {
  epilogue_.residual = {};
  SetNumThreads(1);
  const std::vector<float> all = Product(*packed_, 0, kRows);
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, kRows}) {
      const int64_t first = (kRows - rows) / 2;
      const auto from = all.begin() + first * f_.n;
      EXPECT_EQ(Product(*packed_, first, rows), std::vector<float>(from, from + rows * f_.n))
          << threads << " threads, " << rows << " rows";
    }
  }
}

TEST_P(NBitGemmTest, DoesNotDependOnTheInstructionSet) {
  for (const int64_t rows : {int64_t{1}, kRows}) {
    const auto with = ops::NBitPanels::Pack({Columns(0, f_.n)}).value();
    const std::vector<float> all = Product(*with, 0, rows);
    hwy::DisableTargets(HWY_AVX3);
    const auto without = ops::NBitPanels::Pack({Columns(0, f_.n)}).value();
    EXPECT_EQ(all, Product(*without, 0, rows));
    hwy::DisableTargets(0);
  }
}

TEST_P(NBitGemmTest, PartsSideBySideHaveTheSameBitsAsOneWeight) {
  const int64_t first = f_.n / 3;
  const auto parts = ops::NBitPanels::Pack({Columns(0, first), Columns(first, f_.n - first)});
  EXPECT_EQ(Product(**parts, 0, 3), Product(*packed_, 0, 3));
  EXPECT_EQ(Product(**parts, 0, 20), Product(*packed_, 0, 20));
}

TEST_P(NBitGemmTest, StoredBytesMakeTheSamePanels) {
  const ops::PackedBytes bytes = packed_->bytes();
  const ops::NBitColumns extents = {
      .bits = f_.bits, .block = f_.block, .rows = f_.k, .columns = f_.n};
  const auto read = ops::NBitPanels::Read(extents, bytes);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(Product(*read, 0, 20), Product(*packed_, 0, 20));
  EXPECT_EQ(read->bytes().facts, bytes.facts);
  // Other facts imply another size, except unknown ones.
  EXPECT_EQ(ops::NBitPanels::Read(extents, {bytes.facts ^ 1, bytes.parts}), nullptr);
  EXPECT_EQ(ops::NBitPanels::Read(extents, {bytes.facts | 256, bytes.parts}), nullptr);
  EXPECT_EQ(ops::NBitPanels::Read(extents, {bytes.facts, {}}), nullptr);
  ops::NBitColumns longer = extents;
  longer.rows += f_.block;
  EXPECT_EQ(ops::NBitPanels::Read(longer, bytes), nullptr);
}

TEST_P(NBitGemmTest, EqualWeightsAreStoredOnce) {
  EXPECT_EQ(ops::NBitPanels::Pack({Columns(0, f_.n)}).value(), packed_);
  scales_[0] += 1;
  EXPECT_NE(ops::NBitPanels::Pack({Columns(0, f_.n)}).value(), packed_);
}

std::vector<Format> Formats() {
  std::vector<Format> formats;
  for (const int bits : {2, 4, 8}) {
    for (const bool zero_points : {false, true}) {
      formats.push_back({384, 100, bits, 32, zero_points});
      // Blocks of the sum end within words, at 116 and 231.
      formats.push_back({346, 49, bits, 16, zero_points});
      formats.push_back({1000, 24, bits, 256, zero_points});
      formats.push_back({5, 3, bits, 64, zero_points});
      // More than two panels, so large that the weight lies on huge pages.
      formats.push_back({577, 230, bits, 128, zero_points});
    }
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, NBitGemmTest, ::testing::ValuesIn(Formats()),
                         [](const auto& test) {
                           const Format& f = test.param;
                           return absl::StrCat("k", f.k, "n", f.n, "bits", f.bits, "block", f.block,
                                               f.zero_points ? "points" : "");
                         });

}  // namespace
}  // namespace attnrun::testing
