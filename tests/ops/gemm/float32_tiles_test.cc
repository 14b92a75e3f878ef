// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/div_ceil.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/gemm.h"
#include "ops/tensors/cpu.h"
#include "support/gemm_tester.h"

namespace attnrun::testing {
namespace {

PackedWeight Pack(const ops::MatrixView& weight) { return ops::PackedMatrix::Pack(weight).value(); }

std::vector<float> Product(const Extents& e, const std::vector<float>& a,
                           const ops::PackedMatrix& b) {
  std::vector<float> c(e.m * e.n, NAN);
  ops::Gemm({a.data(), e.m, e.k, e.k}, b, c.data(), e.n, {});
  return c;
}

// The three bf16 of which x is the sum: rounded with ties away from 0, or cut off.
std::array<float, 3> Pieces(float x, bool rounded) {
  std::array<float, 3> pieces;
  for (float& piece : pieces) {
    const uint32_t bits = std::bit_cast<uint32_t>(x) + (rounded ? 0x8000 : 0);
    piece = std::bit_cast<float>(bits & 0xFFFF0000);
    x -= piece;
  }
  EXPECT_EQ(x, 0);
  return pieces;
}

// TDPBF16PS as Intel's manual defines it (volume 2), for one sum and one step of K: a chain for the
// even and one for the odd numbers.
float AddStep(float sum, const std::array<float, 32>& a, const std::array<float, 32>& b) {
  float even = 0;
  float odd = 0;
  for (size_t k = 0; k < a.size(); k += 2) {
    even = std::fma(a[k], b[k], even);
    odd = std::fma(a[k + 1], b[k + 1], odd);
  }
  return sum + (even + odd);
}

using SplitStep = std::array<std::array<float, 32>, 3>;

std::vector<SplitStep> Split(const float* from, int64_t stride, int64_t count, bool rounded) {
  std::vector<SplitStep> steps(DivCeil(count, int64_t{32}));
  for (int64_t k = 0; k < count; ++k) {
    const std::array<float, 3> pieces = Pieces(from[k * stride], rounded);
    for (size_t i = 0; i < 3; ++i) steps[k / 32][i][k % 32] = pieces[i];
  }
  return steps;
}

// A sum in the order that amx_float32.h and FloatPanels promise.
float SumOfPieces(const std::vector<SplitStep>& a, const std::vector<SplitStep>& b) {
  constexpr std::array<std::array<size_t, 2>, 6> kProducts = {
      {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}}};
  const auto steps = static_cast<int64_t>(a.size());
  const int64_t count = DivCeil(steps, int64_t{4});
  const ops::EvenParts parts(steps, count);
  float total = 0;
  for (int64_t part = 0; part < count; ++part) {
    float sum = 0;
    for (int64_t step = parts.Begin(part); step < parts.Begin(part + 1); ++step) {
      for (const auto& [i, j] : kProducts) sum = AddStep(sum, a[step][i], b[step][j]);
    }
    total = part == 0 ? sum : total + sum;
  }
  return total;
}

class Float32TilesTest : public PackedProductTest {
 protected:
  Float32TilesTest() : PackedProductTest(Pack) {}
  void SetUp() override {
    if (!ops::ThisCpu().amx_bf16) GTEST_SKIP() << "needs AMX";
  }
};

TEST_P(Float32TilesTest, FollowTheDocumentedArithmetic) {
  const PackedWeight packed = Pack({b_.data(), k_, n_, n_});
  ASSERT_EQ(packed->format(), ops::WeightFormat::kFloat32Tiles);
  const std::vector<float> c = Product(GetParam(), a_, *packed);
  std::vector<std::vector<SplitStep>> columns;
  for (int64_t j = 0; j < n_; ++j) columns.push_back(Split(&b_[j], n_, k_, false));
  // Some of the rows.
  for (int64_t i = 0; i < m_; i += 7) {
    const std::vector<SplitStep> row = Split(&a_[i * k_], 1, k_, true);
    for (int64_t j = 0; j < n_; ++j) {
      ASSERT_EQ(c[i * n_ + j], SumOfPieces(row, columns[j])) << i << ", " << j;
    }
  }
}

// The pieces that are left out are below 2^-22 of a product, so that the errors are those of the
// sums: no larger than those of fused multiply-adds.
TEST_P(Float32TilesTest, ErrNoMoreThanMultiplyAdds) {
  const std::vector<float> tiles = Product(GetParam(), a_, *Pack({b_.data(), k_, n_, n_}));
  const std::vector<float> adds = Product(GetParam(), a_, *PackForFewRows({b_.data(), k_, n_, n_}));
  double of_tiles = 0;
  double of_adds = 0;
  for (int64_t i = 0; i < m_; ++i) {
    for (int64_t j = 0; j < n_; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < k_; ++k) sum += static_cast<double>(a_[i * k_ + k]) * b_[k * n_ + j];
      of_tiles += std::pow(tiles[i * n_ + j] - sum, 2);
      of_adds += std::pow(adds[i * n_ + j] - sum, 2);
    }
  }
  EXPECT_LE(of_tiles, of_adds);
}

TEST_P(Float32TilesTest, BitsDoNotDependOnThreads) { ExpectSameBitsOnAnyThreads(); }

TEST_P(Float32TilesTest, BitsDoNotDependOnOtherRows) { ExpectSameBitsOfARowAlone(); }

// Infinities, NaN and numbers that cannot be split: such rows are multiplied as floats.
TEST_P(Float32TilesTest, RowsThatCannotBeSplitAreFloats) {
  const std::vector<float> before = Product(GetParam(), a_, *Pack({b_.data(), k_, n_, n_}));
  std::vector<float> a = a_;
  constexpr std::array kNumbers = {std::numeric_limits<float>::infinity(), NAN, 0x1p61F, -0x1p100F};
  for (int64_t i = 0; i < m_; i += 3) a[i * k_ + i % k_] = kNumbers[i % kNumbers.size()];
  // All numbers of a row are small.
  for (int64_t k = 0; k < k_; ++k) a[(m_ - 1) * k_ + k] = 0x1p-110F * a_[(m_ - 1) * k_ + k];
  const std::vector<float> after = Product(GetParam(), a, *Pack({b_.data(), k_, n_, n_}));
  const std::vector<float> adds = Product(GetParam(), a, *PackForFewRows({b_.data(), k_, n_, n_}));
  for (int64_t i = 0; i < m_; ++i) {
    const bool splits = i % 3 != 0 && i != m_ - 1;
    for (int64_t j = i * n_; j < (i + 1) * n_; ++j) {
      const float expected = splits ? before[j] : adds[j];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(after[j])) << i;
      } else {
        ASSERT_EQ(after[j], expected) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Float32TilesTest,
                         ::testing::Values(Extents{1, 768, 96}, Extents{17, 128, 200},
                                           Extents{16, 144, 256}, Extents{40, 2100, 33},
                                           Extents{65, 129, 513}, Extents{130, 256, 7},
                                           Extents{300, 160, 104}));

TEST(Float32TilesWeightTest, TilesHoldColumnsThatCanBeSplit) {
  constexpr int64_t kRows = 128;
  constexpr int64_t kColumns = 160;
  std::vector<float> weight(kRows * kColumns, 1);
  const auto format = [&] { return Pack({weight.data(), kRows, kColumns, kColumns})->format(); };
  const ops::WeightFormat tiles =
      ops::ThisCpu().amx_bf16 ? ops::WeightFormat::kFloat32Tiles : ops::WeightFormat::kFloat32;
  EXPECT_EQ(format(), tiles);
  for (const float large : {0x1p61F, std::numeric_limits<float>::infinity(), NAN}) {
    weight[3 * kColumns + 70] = large;
    EXPECT_EQ(format(), ops::WeightFormat::kFloat32) << large;
  }
  const auto fill = [&](float x) {
    for (int64_t row = 0; row < kRows; ++row) weight[row * kColumns + 70] = x;
  };
  fill(0x1p-61F);
  EXPECT_EQ(format(), ops::WeightFormat::kFloat32);
  fill(0);
  EXPECT_EQ(format(), tiles);
  EXPECT_EQ(PackForFewRows({weight.data(), kRows, kColumns, kColumns})->format(),
            ops::WeightFormat::kFloat32);
  EXPECT_EQ(Pack({weight.data(), kRows - 1, kColumns, kColumns})->format(),
            ops::WeightFormat::kFloat32);
}

// Trained models have weights of such sizes, even of all sizes below 2^-126, where a channel died.
TEST(Float32TilesWeightTest, TinyWeightsLeaveTheirNeighboursAlone) {
  constexpr Extents kAll = {5, 128, 100};
  std::mt19937 generator(Seed());
  const std::vector<float> a = RandomVector(kAll.m * kAll.k, generator);
  std::vector<float> b = RandomVector(kAll.k * kAll.n, generator);
  const auto scale = [&](float by) {
    for (int64_t k = 0; k < kAll.k; k += 3) {
      for (int64_t j = k % 2; j < kAll.n; j += 2) b[k * kAll.n + j] *= by;
    }
  };
  for (const float size : {0x1p-100F, 0x1p-22F, 0x1p-10F}) {
    scale(size);
    const std::vector<float> tiny = b;
    const std::vector<float> c = Product(kAll, a, *Pack({tiny.data(), kAll.k, kAll.n, kAll.n}));
    std::vector<float> none = b;
    for (float& x : none) x = std::abs(x) < 0x1p-90F ? 0 : x;
    EXPECT_EQ(c, Product(kAll, a, *Pack({none.data(), kAll.k, kAll.n, kAll.n}))) << size;
  }
}

// As when the optimizer merges products of one input.
TEST(Float32TilesWeightTest, WeightsHaveTheSameBitsSideBySide) {
  constexpr Extents kAll = {21, 200, 100};
  constexpr int64_t kFirst = 37;
  std::mt19937 generator(Seed());
  const std::vector<float> a = RandomVector(kAll.m * kAll.k, generator);
  const std::vector<float> b = RandomVector(kAll.k * kAll.n, generator);
  const ops::MatrixView first = {b.data(), kAll.k, kFirst, kAll.n};
  const ops::MatrixView rest = {b.data() + kFirst, kAll.k, kAll.n - kFirst, kAll.n};
  const auto merged = ops::PackedMatrix::Pack(ops::SideBySide({first, rest})).value();
  const std::vector<float> c = Product(kAll, a, *merged);
  const std::vector<float> alone = Product({kAll.m, kAll.k, kFirst}, a, *Pack(first));
  for (int64_t i = 0; i < kAll.m; ++i) {
    for (int64_t j = 0; j < kFirst; ++j) EXPECT_EQ(c[i * kAll.n + j], alone[i * kFirst + j]);
  }
}

TEST(Float32TilesWeightTest, TakesStridesAndScale) {
  ExpectTakesStridesAndScale(Pack, {19, 130, 200});
}

}  // namespace
}  // namespace attnrun::testing
