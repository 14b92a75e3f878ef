// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "hwy/targets.h"
#include "ops/gemm/nbit_product.h"
#include "support/op_tester.h"

// Products in block floating point against the exact products of the floats.
namespace attnrun::testing {
namespace {

using ops::NBitActivations;

struct Format {
  int64_t k;
  int64_t n;
  int64_t block;
  bool zero_points;
};

class NBitBlockFloatTest : public ::testing::TestWithParam<Format> {
 protected:
  NBitBlockFloatTest() {
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
  ~NBitBlockFloatTest() override { SetNumThreads(threads_); }

  std::shared_ptr<const ops::NBitPanels> Pack() const {
    const float* const points = f_.zero_points ? points_.data() : nullptr;
    return ops::NBitPanels::Pack({{4, f_.block, f_.k, f_.n, codes_.data(), scales_.data(), points}})
        .value();
  }

  std::vector<float> Product(NBitActivations activations, const ops::NBitPanels& b, int64_t first,
                             int64_t rows) const {
    std::vector<float> c(rows * f_.n, NAN);
    ops::NBitGemm(activations, {a_.data() + first * f_.k, rows, f_.k, f_.k}, b, c.data(), f_.n,
                  epilogue_);
    return c;
  }
  std::vector<float> Product(int64_t first, int64_t rows) const {
    return Product(NBitActivations::kBlockFloat, *packed_, first, rows);
  }

  // The part of an element of the product that a block gives. Adds the bound of its error: elements
  // of A are known to 2^-22 of the largest, and the sum, its zero point and the product with the
  // scale are rounded to floats.
  double BlockSum(int64_t row, int64_t column, int64_t block, double& error) const {
    const float* const x = a_.data() + row * f_.k + block * f_.block;
    const int64_t count = std::min(f_.block, f_.k - block * f_.block);
    const int64_t index = column * blocks_ + block;
    const double point = f_.zero_points ? points_[index] : 8;
    double largest = 0;
    double sum = 0;
    double size = 0;
    double weights = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = index * f_.block + i;
      const int code = codes_[at / 2] >> at % 2 * 4 & 15;
      sum += x[i] * (code - point);
      size += std::fabs(x[i]) * (code + point);
      weights += std::fabs(code - point);
      largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
    }
    const double scale = scales_[index];
    error += std::fabs(scale) * (0x1p-22 * largest * weights + 4 * kEpsilon * size);
    return sum * scale;
  }

  // Half a unit in the last place.
  static constexpr double kEpsilon = 0x1p-24;
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

TEST_P(NBitBlockFloatTest, IsAsExactAsFloats) {
  const std::vector<float> c = Product(0, kRows);
  const std::vector<float> floats = Product(NBitActivations::kFloat, *packed_, 0, kRows);
  double squares = 0;
  double squares_of_floats = 0;
  for (int64_t i = 0; i < kRows * f_.n; ++i) {
    double expected = bias_[i % f_.n];
    double error = kEpsilon * std::fabs(expected);
    double size = std::fabs(expected);
    for (int64_t block = 0; block < blocks_; ++block) {
      const double sum = BlockSum(i / f_.n, i % f_.n, block, error);
      expected += sum;
      size += std::fabs(sum);
    }
    // One rounding for each block that is added, and for the bias.
    error += static_cast<double>(blocks_ + 1) * kEpsilon * size;
    ASSERT_NEAR(c[i], expected, error) << i;
    squares += (c[i] - expected) * (c[i] - expected);
    squares_of_floats += (floats[i] - expected) * (floats[i] - expected);
  }
  // Sums of a few products have few roundings as floats.
  if (f_.k > f_.block) {
    EXPECT_LE(squares, squares_of_floats);
  }
}

TEST_P(NBitBlockFloatTest, DoesNotDependOnThreadsRowsOrInstructions) {
  SetNumThreads(1);
  const std::vector<float> all = Product(0, kRows);
  for (const int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    for (const int64_t rows : {1, 2, 3, 5, 6, 8, 9, 16, 22, 23, 25, 33}) {
      const auto from = all.begin() + 2 * f_.n;
      EXPECT_EQ(Product(2, rows), std::vector<float>(from, from + rows * f_.n)) << rows;
    }
  }
  hwy::DisableTargets(HWY_AVX3);
  EXPECT_EQ(Product(NBitActivations::kBlockFloat, *Pack(), 0, kRows), all);
  hwy::DisableTargets(0);
}

TEST_P(NBitBlockFloatTest, IsExactForIntegers) {
  std::mt19937 generator(Seed());
  for (float& x : a_) x = static_cast<float>(generator() % 4097) - 2048;
  for (float& scale : scales_) scale = 0x1p-4F;
  for (float& x : bias_) x = 0;
  for (float& point : points_) point = 8;
  packed_ = Pack();
  const std::vector<float> c = Product(0, kRows);
  for (int64_t i = 0; i < kRows * f_.n; ++i) {
    double expected = 0;
    double error = 0;
    for (int64_t block = 0; block < blocks_; ++block) {
      expected += BlockSum(i / f_.n, i % f_.n, block, error);
    }
    ASSERT_EQ(c[i], expected) << i;
  }
}

TEST_P(NBitBlockFloatTest, RowsBeyondIntegersGoAsFloats) {
  a_[0] = std::numeric_limits<float>::infinity();
  a_[3 * f_.k - 1] = std::numeric_limits<float>::quiet_NaN();
  std::fill_n(a_.begin() + 4 * f_.k, f_.k, 1e-30F);
  a_[6 * f_.k] = 1e30F;
  std::fill_n(a_.begin() + 8 * f_.k, f_.k, 0.0F);
  const std::vector<float> c = Product(0, kRows);
  const std::vector<float> floats = Product(NBitActivations::kFloat, *packed_, 0, kRows);
  for (const int64_t row : {0, 2, 4, 6, 8}) {
    for (int64_t i = row * f_.n; i < (row + 1) * f_.n; ++i) {
      if (std::isnan(floats[i])) {
        EXPECT_TRUE(std::isnan(c[i])) << i;
      } else {
        EXPECT_EQ(c[i], floats[i]) << i;
      }
    }
  }
  for (const int64_t row : {1, 3, 5, 7, 9}) EXPECT_TRUE(std::isfinite(c[row * f_.n])) << row;
}

TEST_P(NBitBlockFloatTest, TakesPlainScalesAlone) {
  EXPECT_TRUE(ops::Supports(NBitActivations::kBlockFloat, *packed_));
  scales_[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(ops::Supports(NBitActivations::kBlockFloat, *Pack()));
  scales_[0] = 1e-20F;
  EXPECT_FALSE(ops::Supports(NBitActivations::kBlockFloat, *Pack()));
  scales_[0] = 0;
  points_[0] = 1e6F;
  EXPECT_EQ(ops::Supports(NBitActivations::kBlockFloat, *Pack()), !f_.zero_points);
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

INSTANTIATE_TEST_SUITE_P(Formats, NBitBlockFloatTest, ::testing::ValuesIn(Formats()),
                         [](const auto& test) {
                           const Format& f = test.param;
                           return absl::StrCat("k", f.k, "n", f.n, "block", f.block,
                                               f.zero_points ? "points" : "");
                         });

}  // namespace
}  // namespace attnrun::testing
