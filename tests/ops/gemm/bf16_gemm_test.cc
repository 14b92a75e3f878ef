// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/gemm/gemm.h"
#include "support/gemm_tester.h"

namespace attnrun::testing {
namespace {

PackedWeight Pack(const ops::MatrixView& weight) {
  const ops::KernelContext context = {{}, Precision::kBfloat16, nullptr};
  return ops::PackedMatrix::Pack(weight, context).value();
}

// The nearest numbers that bf16 holds.
std::vector<float> Rounded(const std::vector<float>& x) {
  const auto count = static_cast<int64_t>(x.size());
  const Tensor tensor = Converted(
      Converted(Tensor::Of<float>({count}, x).value(), DataType::kBfloat16), DataType::kFloat);
  return {tensor.data<float>(), tensor.data<float>() + count};
}

class Bf16GemmTest : public PackedProductTest {
 protected:
  Bf16GemmTest() : PackedProductTest(Pack) {}
};

// A product of bf16 is exact in float, so only the sum rounds: K times at most, by half an epsilon
// of the sum of magnitudes.
TEST_P(Bf16GemmTest, MultipliesRoundedOperands) {
  const std::vector<float> a = Rounded(a_);
  const std::vector<float> b = Rounded(b_);
  const std::vector<float> c = OfRows(0, m_, {ops::UnaryFunction::kRelu});
  for (int64_t i = 0; i < m_; ++i) {
    for (int64_t j = 0; j < n_; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t k = 0; k < k_; ++k) {
        const double product = static_cast<double>(a[i * k_ + k]) * b[k * n_ + j];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double y = std::max(sum + bias_[j], 0.0) + 0.5 * residual_[i * n_ + j];
      ASSERT_NEAR(c[i * n_ + j], y, static_cast<double>(k_ + 4) * 0x1p-24 * (magnitude + 4))
          << i << ", " << j;
    }
  }
}

TEST_P(Bf16GemmTest, BitsDoNotDependOnThreads) { ExpectSameBitsOnAnyThreads(); }

TEST_P(Bf16GemmTest, BitsDoNotDependOnOtherRows) { ExpectSameBitsOfARowAlone(); }

INSTANTIATE_TEST_SUITE_P(All, Bf16GemmTest,
                         ::testing::Values(Extents{1, 1, 1}, Extents{3, 31, 33},
                                           Extents{16, 32, 32}, Extents{17, 33, 31},
                                           Extents{33, 64, 96}, Extents{40, 400, 70},
                                           Extents{70, 801, 129}, Extents{130, 96, 260},
                                           Extents{700, 770, 40}, Extents{64, 512, 1024},
                                           Extents{5, 0, 7}));

TEST(Bf16GemmLayoutTest, StridedRowsAndScale) { ExpectTakesStridesAndScale(Pack); }

// A number that rounds away in bf16 shows which operands are rounded.
TEST(Bf16GemmRoundingTest, RoundsBothOperands) {
  const float just_above = 1 + 0x1p-10F;
  const PackedWeight packed = Pack({&just_above, 1, 1, 1});
  float c = 0;
  ops::Gemm({&just_above, 1, 1, 1}, *packed, &c, 1, {});
  EXPECT_EQ(c, 1);
}

// Weights that a model stores in 2 bytes keep them, whatever the precision.
TEST(Bf16GemmRoundingTest, StoredHalvesStayHalves) {
  const std::vector<float> weight(64 * 48, 1 + 0x1p-10F);
  const std::vector<float> a(64, 1 + 0x1p-20F);
  const ops::KernelContext context;
  const auto packed = ops::PackedMatrix::Pack(ops::MatrixView{weight.data(), 64, 48, 48}, context,
                                              DataType::kFloat16)
                          .value();
  EXPECT_EQ(packed->panels().byte_size(),
            packed->num_panels() * 64 * ops::PanelColumns(packed->format()) * 2);
  std::vector<float> c(48);
  ops::Gemm({a.data(), 1, 64, 64}, *packed, c.data(), 48, {});
  EXPECT_NEAR(c[47], 64 * (1 + 0x1p-10) * (1 + 0x1p-20), 64 * 0x1p-24 * 64);
}

}  // namespace
}  // namespace attnrun::testing
