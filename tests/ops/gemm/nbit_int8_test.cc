// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "hwy/targets.h"
#include "support/op_tester.h"

// Products of activations rounded to 8 bits and weights of 4 bits against the same sums one by one.
namespace attnrun::testing {
namespace {

struct Format {
  int64_t k;
  int64_t n;
  int64_t block;
  bool zero_points;
};

class NBitInt8Test : public ::testing::TestWithParam<Format> {
 protected:
  NBitInt8Test() {
    std::mt19937 generator(Seed());
    std::normal_distribution<float> normal;
    codes_.resize(f_.n * blocks_ * f_.block / 2);
    for (uint8_t& byte : codes_) byte = static_cast<uint8_t>(generator());
    scales_.resize(f_.n * blocks_);
    for (float& scale : scales_) scale = normal(generator);
    points_.resize(f_.n * blocks_);
    for (float& point : points_) point = static_cast<float>(generator() % 16);
    a_.resize(kRows * f_.k);
    for (float& x : a_) x = normal(generator);
    bias_.resize(f_.n);
    for (float& x : bias_) x = normal(generator);
    epilogue_.bias = bias_.data();
    packed_ = Pack();
  }
  ~NBitInt8Test() override { SetNumThreads(threads_); }

  std::shared_ptr<const ops::NBitPanels> Pack() const {
    const float* const points = f_.zero_points ? points_.data() : nullptr;
    return ops::NBitPanels::Pack({{4, f_.block, f_.k, f_.n, codes_.data(), scales_.data(), points}})
        .value();
  }

  std::vector<float> Product(const ops::NBitPanels& b, int64_t first, int64_t rows) const {
    std::vector<float> c(rows * f_.n, NAN);
    ops::NBitGemm(ops::NBitActivations::kInt8, {a_.data() + first * f_.k, rows, f_.k, f_.k}, b,
                  c.data(), f_.n, epilogue_);
    return c;
  }

  // The part of an element of the product that a block gives, and the sum of its magnitudes.
  double BlockSum(int64_t row, int64_t column, int64_t block, double& size) const {
    const float* const x = a_.data() + row * f_.k + block * f_.block;
    const int64_t count = std::min(f_.block, f_.k - block * f_.block);
    float largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
    const int64_t index = column * blocks_ + block;
    const double point = f_.zero_points ? points_[index] : 8;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = index * f_.block + i;
      const int code = codes_[at / 2] >> at % 2 * 4 & 15;
      const double product = std::nearbyint(x[i] * (127 / largest)) * (code - point);
      sum += product;
      size += std::fabs(product * scales_[index] * (largest / 127));
    }
    return sum * scales_[index] * (largest / 127);
  }

  static constexpr int64_t kRows = 46;
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

TEST_P(NBitInt8Test, SumsRoundedActivations) {
  const std::vector<float> c = Product(*packed_, 0, kRows);
  for (int64_t i = 0; i < kRows * f_.n; ++i) {
    double expected = bias_[i % f_.n];
    double size = std::fabs(expected);
    for (int64_t block = 0; block < blocks_; ++block) {
      expected += BlockSum(i / f_.n, i % f_.n, block, size);
    }
    ASSERT_NEAR(c[i], expected, 2e-7 * size) << i;
  }
}

TEST_P(NBitInt8Test, DoesNotDependOnThreadsRowsOrInstructions) {
  SetNumThreads(1);
  const std::vector<float> all = Product(*packed_, 0, kRows);
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    for (const int64_t rows : {1, 2, 3, 4, 6, 16, 25, 33}) {
      const auto from = all.begin() + 2 * f_.n;
      EXPECT_EQ(Product(*packed_, 2, rows), std::vector<float>(from, from + rows * f_.n));
    }
  }
  hwy::DisableTargets(HWY_AVX3);
  EXPECT_EQ(Product(*Pack(), 0, kRows), all);
  hwy::DisableTargets(0);
}

TEST_P(NBitInt8Test, BlocksWithoutSizeAre0AndInfinitiesStay) {
  std::fill_n(a_.begin(), f_.k, 1e-35F);
  a_[f_.k] = std::numeric_limits<float>::infinity();
  a_[3 * f_.k - 1] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> c = Product(*packed_, 0, 4);
  for (int64_t j = 0; j < f_.n; ++j) {
    EXPECT_EQ(c[j], bias_[j]);
    EXPECT_TRUE(std::isnan(c[f_.n + j]));
    EXPECT_TRUE(std::isnan(c[2 * f_.n + j]));
    EXPECT_TRUE(std::isfinite(c[3 * f_.n + j]));
  }
}

std::vector<Format> Formats() {
  std::vector<Format> formats;
  for (const bool zero_points : {false, true}) {
    formats.push_back({384, 100, 32, zero_points});
    formats.push_back({346, 49, 16, zero_points});
    formats.push_back({1000, 24, 256, zero_points});
    formats.push_back({5, 3, 64, zero_points});
    formats.push_back({577, 230, 128, zero_points});
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, NBitInt8Test, ::testing::ValuesIn(Formats()),
                         [](const auto& test) {
                           const Format& f = test.param;
                           return absl::StrCat("k", f.k, "n", f.n, "block", f.block,
                                               f.zero_points ? "points" : "");
                         });

}  // namespace
}  // namespace attnrun::testing
