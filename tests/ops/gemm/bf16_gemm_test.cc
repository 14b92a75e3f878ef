// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "ops/gemm/gemm.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

std::vector<float> Random(int64_t count, std::mt19937& generator) {
  const Tensor tensor = RandomFloats({count}, generator);
  return {tensor.data<float>(), tensor.data<float>() + count};
}

// The nearest numbers that bf16 holds.
std::vector<float> Rounded(const std::vector<float>& x) {
  const auto count = static_cast<int64_t>(x.size());
  const Tensor tensor = Converted(
      Converted(Tensor::Of<float>({count}, x).value(), DataType::kBfloat16), DataType::kFloat);
  return {tensor.data<float>(), tensor.data<float>() + count};
}

struct Extents {
  int64_t m;
  int64_t k;
  int64_t n;
};

class Bf16GemmTest : public ::testing::TestWithParam<Extents> {
 protected:
  Bf16GemmTest()
      : generator_(Seed()),
        a_(Random(m_ * k_, generator_)),
        b_(Random(k_ * n_, generator_)),
        bias_(Random(n_, generator_)),
        residual_(Random(m_ * n_, generator_)) {}
  ~Bf16GemmTest() override { SetNumThreads(threads_); }

  std::vector<float> OfRows(int64_t first, int64_t rows, ops::UnaryFunction activation) const {
    const ops::KernelContext context = {{}, Precision::kBfloat16, nullptr};
    const auto packed =
        ops::PackedMatrix::Pack(ops::MatrixView{b_.data(), k_, n_, n_}, context).value();
    ops::Epilogue epilogue;
    epilogue.bias = bias_.data();
    epilogue.activation = {activation};
    epilogue.residual = {residual_.data() + first * n_, rows, n_, n_, 1};
    epilogue.residual_scale = 0.5F;
    std::vector<float> c(rows * n_, NAN);
    ops::Gemm({a_.data() + first * k_, rows, k_, k_}, *packed, c.data(), n_, epilogue);
    return c;
  }

  const int64_t m_ = GetParam().m;
  const int64_t k_ = GetParam().k;
  const int64_t n_ = GetParam().n;
  const int threads_ = NumThreads();
  std::mt19937 generator_;
  const std::vector<float> a_;
  const std::vector<float> b_;
  const std::vector<float> bias_;
  const std::vector<float> residual_;
};

// A product of bf16 is exact in float, so only the sum rounds: K times at most, by half an epsilon
// of the sum of magnitudes.
TEST_P(Bf16GemmTest, MultipliesRoundedOperands) {
  const std::vector<float> a = Rounded(a_);
  const std::vector<float> b = Rounded(b_);
  const std::vector<float> c = OfRows(0, m_, ops::UnaryFunction::kRelu);
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

TEST_P(Bf16GemmTest, BitsDoNotDependOnThreads) {
  SetNumThreads(1);
  const std::vector<float> one = OfRows(0, m_, ops::UnaryFunction::kGelu);
  for (const int threads : {2, 3, 7}) {
    SetNumThreads(threads);
    const std::vector<float> many = OfRows(0, m_, ops::UnaryFunction::kGelu);
    EXPECT_EQ(std::memcmp(one.data(), many.data(), m_ * n_ * sizeof(float)), 0) << threads;
  }
}

TEST_P(Bf16GemmTest, BitsDoNotDependOnOtherRows) {
  const std::vector<float> all = OfRows(0, m_, ops::UnaryFunction::kGelu);
  for (int64_t row = 0; row < m_; row += 13) {
    const std::vector<float> alone = OfRows(row, 1, ops::UnaryFunction::kGelu);
    EXPECT_EQ(std::memcmp(alone.data(), all.data() + row * n_, n_ * sizeof(float)), 0) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bf16GemmTest,
                         ::testing::Values(Extents{1, 1, 1}, Extents{3, 31, 33},
                                           Extents{16, 32, 32}, Extents{17, 33, 31},
                                           Extents{33, 64, 96}, Extents{40, 400, 70},
                                           Extents{70, 801, 129}, Extents{130, 96, 260},
                                           Extents{700, 770, 40}, Extents{5, 0, 7}));

// Rows of A may lie apart in any way, and the result may be scaled.
TEST(Bf16GemmLayoutTest, StridedRowsAndScale) {
  constexpr int64_t kRows = 19;
  constexpr int64_t kDepth = 37;
  constexpr int64_t kColumns = 41;
  std::mt19937 generator(Seed());
  const std::vector<float> a = Random(kRows * kDepth, generator);
  const std::vector<float> b = Random(kDepth * kColumns, generator);
  std::vector<float> transposed(a.size());
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t k = 0; k < kDepth; ++k) transposed[k * kRows + i] = a[i * kDepth + k];
  }
  const ops::KernelContext context = {{}, Precision::kBfloat16, nullptr};
  const auto packed =
      ops::PackedMatrix::Pack(ops::MatrixView{b.data(), kDepth, kColumns, kColumns}, context)
          .value();
  ops::Epilogue epilogue;
  epilogue.scale = 0.5F;
  std::vector<float> c(kRows * kColumns);
  std::vector<float> d(kRows * kColumns);
  ops::Gemm({a.data(), kRows, kDepth, kDepth}, *packed, c.data(), kColumns, {});
  ops::Gemm({transposed.data(), kRows, kDepth, 1, kRows}, *packed, d.data(), kColumns, epilogue);
  for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i] * 0.5F, d[i]);
}

// A number that rounds away in bf16 shows which operands are rounded.
TEST(Bf16GemmRoundingTest, RoundsBothOperands) {
  const float just_above = 1 + 0x1p-10F;
  const ops::KernelContext context = {{}, Precision::kBfloat16, nullptr};
  const auto packed = ops::PackedMatrix::Pack({&just_above, 1, 1, 1}, context).value();
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
