// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ops/gemm/nbit_product_tester.h"

// Products of activations rounded to 8 bits and weights of 4 bits against the same sums one by one.
namespace attnrun::testing {
namespace {

class NBitInt8Test : public NBitProductTest {
 protected:
  NBitInt8Test() : NBitProductTest(ops::NBitActivations::kInt8) {}

  // The part of an element of the product that a block gives, and the sum of its magnitudes.
  double BlockSum(int64_t row, int64_t column, int64_t block, double& size) const {
    const float* const x = a_.data() + row * f_.k + block * f_.block;
    const int64_t count = std::min(f_.block, f_.k - block * f_.block);
    float largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
    const int64_t index = column * blocks_ + block;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double product = std::nearbyint(x[i] * (127 / largest)) * CodeAt(index, i);
      sum += product;
      size += std::fabs(product * scales_[index] * (largest / 127));
    }
    return sum * scales_[index] * (largest / 127);
  }
};

TEST_P(NBitInt8Test, SumsRoundedActivations) {
  const std::vector<float> c = Product(0, kRows);
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
  ExpectSameBitsWithAnyThreadsRowsAndInstructions({1, 2, 3, 4, 6, 16, 25, 33});
}

TEST_P(NBitInt8Test, BlocksWithoutSizeAre0AndInfinitiesStay) {
  std::fill_n(a_.begin(), f_.k, 1e-35F);
  a_[f_.k] = std::numeric_limits<float>::infinity();
  a_[3 * f_.k - 1] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> c = Product(0, 4);
  for (int64_t j = 0; j < f_.n; ++j) {
    EXPECT_EQ(c[j], bias_[j]);
    EXPECT_TRUE(std::isnan(c[f_.n + j]));
    EXPECT_TRUE(std::isnan(c[2 * f_.n + j]));
    EXPECT_TRUE(std::isfinite(c[3 * f_.n + j]));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, NBitInt8Test, ::testing::ValuesIn(IntegerFormats()), NameOf);

}  // namespace
}  // namespace attnrun::testing
