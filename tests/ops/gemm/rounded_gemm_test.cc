// SPDX-License-Identifier: Apache-2.0
// Products of floats that are rounded to 8 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/gemm/finish_sums.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/int8_weight.h"
#include "support/gemm_tester.h"

namespace attnrun::testing {
namespace {

// The weight in int8, whatever ChooseInt8 says about it.
PackedWeight Pack(const ops::MatrixView& weight) {
  const ops::WeightFormat format = ops::BestInt8Format();
  const int64_t bytes = ops::PanelBytes(format, weight.rows);
  const int64_t width = ops::PanelColumns(format);
  const int64_t panels = (weight.columns + width - 1) / width;
  Tensor data = Tensor::Allocate(DataType::kUint8, {panels, bytes}, Allocator::Heap()).value();
  const ops::SideBySide source({weight});
  for (int64_t i = 0; i < panels; ++i) {
    ops::PackPanel(format, source, weight.rows, weight.columns, i,
                   data.mutable_data<uint8_t>() + i * bytes);
  }
  return ops::PackedMatrix::Of(format, weight.rows, weight.columns, std::move(data));
}

// Numbers with one scale and zero point.
struct Rounded {
  std::vector<int> integers;
  float scale = 0;
  int zero = 0;
};

int Nearest(float x) { return static_cast<int>(std::nearbyint(x)); }

// As int8_rounding.h says, for finite numbers.
Rounded RoundedRow(const float* x, int64_t count) {
  float min = 0;
  float max = 0;
  for (int64_t i = 0; i < count; ++i) min = std::min(min, x[i]);
  for (int64_t i = 0; i < count; ++i) max = std::max(max, x[i]);
  Rounded row;
  row.scale = max / 255 - min / 255;
  row.integers.resize(count);
  if (row.scale < std::numeric_limits<float>::min()) return {row.integers};
  row.zero = Nearest(-min * (1 / row.scale));
  for (int64_t i = 0; i < count; ++i) {
    row.integers[i] = std::clamp(Nearest(x[i] * (1 / row.scale)) + row.zero, 0, 255);
  }
  return row;
}

Rounded RoundedColumn(const float* w, int64_t count, int64_t step) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(w[i * step]));
  Rounded column;
  column.scale = largest / 127;
  column.integers.resize(count);
  if (column.scale < std::numeric_limits<float>::min()) return {column.integers};
  for (int64_t i = 0; i < count; ++i) {
    column.integers[i] = std::clamp(Nearest(w[i * step] * (1 / column.scale)), -127, 127);
  }
  return column;
}

class RoundedGemmTest : public PackedProductTest {
 protected:
  RoundedGemmTest() : PackedProductTest(Pack) {}
};

// Sums are exact, and each step to the output is one operation of floats, so every instruction set
// gives these bits.
TEST_P(RoundedGemmTest, BitsAreThoseOfTheFormula) {
  const std::vector<float> c = OfRows(0, m_, {});
  for (int64_t i = 0; i < m_; ++i) {
    const Rounded row = RoundedRow(a_.data() + i * k_, k_);
    for (int64_t j = 0; j < n_; ++j) {
      const Rounded column = RoundedColumn(b_.data() + j, k_, n_);
      int sum = 0;
      for (int64_t k = 0; k < k_; ++k) {
        sum += (row.integers[k] - row.zero) * column.integers[k];
      }
      const float y = std::fma(static_cast<float>(sum), column.scale * row.scale, bias_[j]);
      ASSERT_EQ(c[i * n_ + j], std::fma(residual_[i * n_ + j], 0.5F, y)) << i << ", " << j;
    }
  }
}

// An operand is off by half a step of its scale, a factor of 1 + 1e-3 for the rounding of floats.
TEST_P(RoundedGemmTest, TheErrorIsBoundByTheSteps) {
  const std::vector<float> c = OfRows(0, m_, {});
  for (int64_t i = 0; i < m_; ++i) {
    const double x_step = RoundedRow(a_.data() + i * k_, k_).scale / 2 * 1.001;
    for (int64_t j = 0; j < n_; ++j) {
      const double w_step = RoundedColumn(b_.data() + j, k_, n_).scale / 2 * 1.001;
      double y = bias_[j] + 0.5 * residual_[i * n_ + j];
      double bound = 1e-6;
      for (int64_t k = 0; k < k_; ++k) {
        const double x = a_[i * k_ + k];
        const double w = b_[k * n_ + j];
        y += x * w;
        bound += x_step * std::fabs(w) + w_step * std::fabs(x) + x_step * w_step;
      }
      ASSERT_NEAR(c[i * n_ + j], y, bound) << i << ", " << j;
    }
  }
}

TEST_P(RoundedGemmTest, BitsDoNotDependOnThreads) { ExpectSameBitsOnAnyThreads(); }

TEST_P(RoundedGemmTest, BitsDoNotDependOnOtherRows) { ExpectSameBitsOfARowAlone(); }

INSTANTIATE_TEST_SUITE_P(All, RoundedGemmTest,
                         ::testing::Values(Extents{1, 1, 1}, Extents{3, 31, 33},
                                           Extents{16, 64, 32}, Extents{17, 33, 31},
                                           Extents{33, 64, 96}, Extents{40, 400, 70},
                                           Extents{70, 801, 129}, Extents{130, 96, 260},
                                           Extents{5, 0, 7}));

TEST(RoundedGemmLayoutTest, StridedRowsAndScale) { ExpectTakesStridesAndScale(Pack); }

// A number that is not finite spoils its own row alone; numbers below 2^-126 count as 0.
TEST(RoundedGemmLayoutTest, RowsOfUnusualNumbers) {
  constexpr int64_t kDepth = 40;
  const std::vector<float> weights(kDepth, 1);
  const auto packed = Pack({weights.data(), kDepth, 1, 1});
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> numbers = {1, NAN, INFINITY, -INFINITY, 0, 1e-40F, most, -3};
  const auto rows = static_cast<int64_t>(numbers.size());
  std::vector<float> a(rows * kDepth, 0);
  for (int64_t i = 0; i < rows; ++i) a[i * kDepth + kDepth - 1 - i] = numbers[i];
  std::vector<float> c(rows, -1);
  ops::Gemm({a.data(), rows, kDepth, kDepth}, *packed, c.data(), 1, {});
  EXPECT_NEAR(c[0], 1, 1e-6);
  for (const int i : {1, 2, 3}) EXPECT_TRUE(std::isnan(c[i])) << i;
  EXPECT_EQ(c[4], 0);
  EXPECT_EQ(c[5], 0);
  EXPECT_NEAR(c[6] / most, 1, 1e-6);
  EXPECT_NEAR(c[7], -3, 1e-5);
}

// The way from sums in memory, as AMX leaves them, to C.
TEST(RoundedGemmLayoutTest, SumsOfTilesAreFinishedByTheSameFormula) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kColumns = 21;
  constexpr int64_t kWidth = 32;
  std::mt19937 generator(Seed());
  std::vector<int32_t> sums(kRows * kWidth);
  for (int32_t& sum : sums) sum = static_cast<int32_t>(generator() % 200001) - 100000;
  const std::vector<int32_t> before = sums;
  const std::vector<int32_t> zeros = {-3, 0, 5, -255, 7, 1, -1};
  std::vector<int32_t> columns(kWidth);
  for (int32_t& column : columns) column = static_cast<int32_t>(generator() % 2001) - 1000;
  const std::vector<float> row_scales = RandomVector(kRows, generator);
  const std::vector<float> scales = RandomVector(kWidth, generator);
  std::vector<float> c(kRows * kColumns);
  ops::SumsBlock block = {};
  block.sums = sums.data();
  block.ld = kWidth;
  block.integers = true;
  block.rows = kRows;
  block.columns = kColumns;
  block.row_terms[1] = zeros.data();
  block.column_terms[1] = columns.data();
  block.c = c.data();
  block.ldc = kColumns;
  block.row_scales = row_scales.data();
  block.scales = scales.data();
  ops::FinishRows(block, 0, block.rows);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const int32_t sum = before[i * kWidth + j] + zeros[i] * columns[j];
      EXPECT_EQ(c[i * kColumns + j], static_cast<float>(sum) * (scales[j] * row_scales[i]));
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
