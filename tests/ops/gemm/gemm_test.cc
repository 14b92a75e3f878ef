// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "hwy/targets.h"
#include "ops/gemm/gemm_operands.h"
#include "support/gemm_tester.h"

namespace attnrun::testing {
namespace {

std::vector<float> Product(int64_t m, int64_t k, const std::vector<float>& a,
                           const ops::PackedMatrix& b, const ops::Epilogue& epilogue = {}) {
  std::vector<float> c(m * b.columns(), NAN);
  ops::Gemm({a.data(), m, k, k}, b, c.data(), b.columns(), epilogue);
  return c;
}

bool SameBits(const float* a, const float* b, int64_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

class GemmBitsTest : public ::testing::TestWithParam<Extents> {
 protected:
  GemmBitsTest()
      : generator_(Seed()),
        a_(RandomVector(m_ * k_, generator_)),
        b_(RandomVector(k_ * n_, generator_)),
        bias_(RandomVector(n_, generator_)) {
    epilogue_.bias = bias_.data();
    epilogue_.scale = 0.3F;
    epilogue_.activation = {ops::UnaryFunction::kGelu};
  }
  ~GemmBitsTest() override { SetNumThreads(threads_); }

  std::vector<float> OfRows(int64_t first, int64_t rows) const {
    const auto packed = PackForFewRows({b_.data(), k_, n_, n_});
    const std::vector<float> some(a_.begin() + first * k_, a_.begin() + (first + rows) * k_);
    return Product(rows, k_, some, *packed, epilogue_);
  }

  const int64_t m_ = GetParam().m;
  const int64_t k_ = GetParam().k;
  const int64_t n_ = GetParam().n;
  const int threads_ = NumThreads();
  std::mt19937 generator_;
  const std::vector<float> a_;
  const std::vector<float> b_;
  const std::vector<float> bias_;
  ops::Epilogue epilogue_;
};

TEST_P(GemmBitsTest, DoNotDependOnThreads) {
  SetNumThreads(1);
  const std::vector<float> alone = OfRows(0, m_);
  for (const int threads : {2, 3, 7}) {
    SetNumThreads(threads);
    EXPECT_TRUE(SameBits(alone.data(), OfRows(0, m_).data(), m_ * n_)) << threads;
  }
}

TEST_P(GemmBitsTest, DoNotDependOnOtherRows) {
  const std::vector<float> all = OfRows(0, m_);
  for (const int64_t rows : {1, 2, 3, 5, 6, 11, 13}) {
    if (rows > m_) continue;
    const int64_t first = (m_ - rows) / 2;
    EXPECT_TRUE(SameBits(all.data() + first * n_, OfRows(first, rows).data(), rows * n_)) << rows;
  }
}

TEST_P(GemmBitsTest, DoNotDependOnTheInstructionSet) {
  const std::vector<float> all = OfRows(0, m_);
  hwy::DisableTargets(HWY_AVX3);
  const std::vector<float> avx2 = OfRows(0, m_);
  hwy::DisableTargets(0);
  EXPECT_TRUE(SameBits(all.data(), avx2.data(), m_ * n_));
}

TEST_P(GemmBitsTest, DoNotDependOnLayout) {
  const std::vector<float> all = OfRows(0, m_);
  std::vector<float> a(m_ * k_);
  std::vector<float> b(k_ * n_);
  for (int64_t i = 0; i < m_ * k_; ++i) a[i % k_ * m_ + i / k_] = a_[i];
  for (int64_t i = 0; i < k_ * n_; ++i) b[i % n_ * k_ + i / n_] = b_[i];
  for (const ops::MatrixView& lhs :
       {ops::MatrixView{a_.data(), m_, k_, k_}, ops::MatrixView{a.data(), m_, k_, 1, m_}}) {
    for (const ops::MatrixView& rhs :
         {ops::MatrixView{b_.data(), k_, n_, n_}, ops::MatrixView{b.data(), k_, n_, 1, k_}}) {
      std::vector<float> c(m_ * n_, NAN);
      const ops::GemmProblem problem = {lhs, rhs, c.data(), n_, epilogue_};
      ops::BatchedGemm(1, [&](int64_t) { return problem; });
      EXPECT_TRUE(SameBits(all.data(), c.data(), m_ * n_));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmBitsTest,
                         // Rows that are 3,072 and 1,024 floats apart are copied if many panels
                         // read them.
                         ::testing::Values(Extents{530, 1000, 100}, Extents{37, 3072, 384},
                                           Extents{300, 1024, 40}, Extents{140, 1024, 500},
                                           Extents{16, 384, 1}, Extents{7, 1, 50},
                                           Extents{260, 2999, 150}));

// Adds up in the order that Gemm's comment and kDepthBlock promise, one element at a time.
float SumOfBlocks(const float* a, const float* b, int64_t k, int64_t n) {
  // Blocks of about equal size, in units of 16.
  constexpr int64_t kUnit = 16;
  const int64_t blocks = DivCeil(k, ops::kDepthBlock);
  const int64_t units = DivCeil(k, kUnit);
  float total = 0;
  int64_t i = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    float sum = 0;
    const int64_t own = units / blocks + (block < units % blocks ? 1 : 0);
    const int64_t end = std::min(i + own * kUnit, k);
    for (; i < end; ++i) sum = std::fma(a[i], b[i * n], sum);
    total = block == 0 ? sum : total + sum;
  }
  return total;
}

// The sizes exceed a block of rows and the part of K that is multiplied before the next panel.
TEST(GemmTest, SumsBlocksOfKInOrder) {
  std::mt19937 generator(Seed());
  for (const auto& [m, k, n] :
       {Extents{3, 700, 100}, Extents{9, 255, 48}, Extents{131, 4099, 100}}) {
    const std::vector<float> a = RandomVector(m * k, generator);
    const std::vector<float> b = RandomVector(k * n, generator);
    const std::vector<float> c = Product(m, k, a, *PackForFewRows({b.data(), k, n, n}));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(c[i * n + j], SumOfBlocks(&a[i * k], &b[j], k, n)) << i << " " << j;
      }
    }
  }
}

TEST(GemmTest, EpilogueAppliesInOrder) {
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {1, 0, 0, 1};
  const std::vector<float> bias = {10, 20};
  const std::vector<float> residual = {100, 200};
  const auto packed = PackForFewRows({b.data(), 2, 2, 2});
  ops::Epilogue epilogue;
  epilogue.scale = 2;
  epilogue.bias = bias.data();
  // One value per row.
  epilogue.residual = {residual.data(), 2, 2, 1, 0};
  epilogue.residual_scale = 0.5;
  EXPECT_EQ(Product(2, 2, a, *packed, epilogue), (std::vector<float>{62, 74, 116, 128}));
  const std::vector<float> low = {-10, 20};
  epilogue.bias = low.data();
  epilogue.activation = {ops::UnaryFunction::kRelu};
  EXPECT_EQ(Product(2, 2, a, *packed, epilogue), (std::vector<float>{50, 74, 100, 128}));
}

// The residual is added as if the product had been stored before, whether it comes from registers
// or memory.
TEST(GemmTest, AddsResidualsOfAnyStrides) {
  constexpr int64_t kRows = 131;
  constexpr int64_t kDepth = 300;
  constexpr int64_t kColumns = 100;
  std::mt19937 generator(Seed());
  const std::vector<float> a = RandomVector(kRows * kDepth, generator);
  const std::vector<float> b = RandomVector(kDepth * kColumns, generator);
  const std::vector<float> r = RandomVector(kRows * kColumns, generator);
  const auto packed = ops::PackedMatrix::Pack({b.data(), kDepth, kColumns, kColumns}).value();
  for (const ops::UnaryFunction activation :
       {ops::UnaryFunction::kIdentity, ops::UnaryFunction::kRelu}) {
    ops::Epilogue epilogue;
    epilogue.activation = {activation};
    const std::vector<float> alone = Product(kRows, kDepth, a, *packed, epilogue);
    epilogue.residual_scale = 0.7F;
    for (const ops::MatrixView& residual : {ops::MatrixView{r.data(), kRows, kColumns, kColumns, 1},
                                            ops::MatrixView{r.data(), kRows, kColumns, 1, kRows},
                                            ops::MatrixView{r.data(), kRows, kColumns, 1, 0}}) {
      epilogue.residual = residual;
      const std::vector<float> sums = Product(kRows, kDepth, a, *packed, epilogue);
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        const float addend = *residual.at(i / kColumns, i % kColumns);
        ASSERT_EQ(sums[i], std::fma(0.7F, addend, alone[i])) << i;
      }
    }
  }
}

TEST(PackedMatrixTest, EqualWeightsShareTheirBytes) {
  std::mt19937 generator(Seed());
  std::vector<float> weight = RandomVector(70 * 50, generator);
  const auto first = ops::PackedMatrix::Pack({weight.data(), 70, 50, 50}).value();
  const std::vector<float> copy = weight;
  EXPECT_EQ(ops::PackedMatrix::Pack({copy.data(), 70, 50, 50}).value(), first);
  // The changed element is not part of the fingerprint.
  weight[51] += 1;
  EXPECT_NE(ops::PackedMatrix::Pack({weight.data(), 70, 50, 50}).value(), first);
  EXPECT_NE(ops::PackedMatrix::Pack({copy.data(), 50, 70, 70}).value(), first);
}

}  // namespace
}  // namespace attnrun::testing
