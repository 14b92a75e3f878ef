// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ops/gemm/nbit_product_tester.h"

// Products in block floating point against the exact products of the floats.
namespace attnrun::testing {
namespace {

using ops::NBitActivations;

class NBitBlockFloatTest : public NBitProductTest {
 protected:
  NBitBlockFloatTest() : NBitProductTest(NBitActivations::kBlockFloat) {}

  // The part of an element of the product that a block gives. Adds the bound of its error: elements
  // of A are known to 2^-22 of the largest, and the sum, its zero point and the product with the
  // scale are rounded to floats.
  double BlockSum(int64_t row, int64_t column, int64_t block, double& error) const {
    const float* const x = a_.data() + row * f_.k + block * f_.block;
    const int64_t count = std::min(f_.block, f_.k - block * f_.block);
    const int64_t index = column * blocks_ + block;
    double largest = 0;
    double sum = 0;
    double size = 0;
    double weights = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += x[i] * CodeAt(index, i);
      size += std::fabs(x[i]) * (CodeBits(index, i) + ZeroPoint(index));
      weights += std::fabs(CodeAt(index, i));
      largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
    }
    const double scale = scales_[index];
    error += std::fabs(scale) * (0x1p-22 * largest * weights + 4 * kEpsilon * size);
    return sum * scale;
  }

  // Half a unit in the last place.
  static constexpr double kEpsilon = 0x1p-24;
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
  ExpectSameBitsWithAnyThreadsRowsAndInstructions({1, 2, 3, 5, 6, 8, 9, 16, 22, 23, 25, 33});
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

INSTANTIATE_TEST_SUITE_P(Formats, NBitBlockFloatTest, ::testing::ValuesIn(IntegerFormats()),
                         NameOf);

}  // namespace
}  // namespace attnrun::testing
