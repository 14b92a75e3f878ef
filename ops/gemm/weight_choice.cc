// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/weight_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/div_ceil.h"
#include "core/parallel.h"
#include "ops/gemm/int8_rounding.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// Columns that are judged at once.
constexpr int64_t kWidth = 64;

// The square of |w - scale * q| / |w|, summed over columns [begin, begin + count) of the weight;
// NaN if a number is not finite. Columns of zeros lose nothing.
double SquaredErrors(const SideBySide& weight, int64_t begin, int64_t count) {
  const int64_t rows = weight.rows();
  Scratch float_scratch;
  auto* const floats = float_scratch.AtLeast<float>(rows * kWidth);
  if (count < kWidth) std::fill_n(floats, rows * kWidth, 0.0F);
  weight.Copy(0, rows, begin, count, floats, kWidth);
  double squares[kWidth] = {};
  for (int64_t i = 0; i < rows; ++i) {
    const float* const row = floats + i * kWidth;
    for (int64_t j = 0; j < kWidth; ++j) squares[j] += static_cast<double>(row[j]) * row[j];
  }
  double sum = std::accumulate(squares, squares + kWidth, 0.0);
  if (!std::isfinite(sum)) return std::nan("");
  float scales[kWidth];
  ScalesOfColumns(floats, rows, kWidth, scales);
  Scratch integer_scratch;
  auto* const integers = integer_scratch.AtLeast<int8_t>(rows * kWidth);
  RoundColumns(floats, rows, kWidth, scales, integers);
  double errors[kWidth] = {};
  for (int64_t i = 0; i < rows; ++i) {
    const float* const row = floats + i * kWidth;
    const int8_t* const rounded = integers + i * kWidth;
    for (int64_t j = 0; j < kWidth; ++j) {
      const double error = row[j] - scales[j] * rounded[j];
      errors[j] += error * error;
    }
  }
  sum = 0;
  for (int64_t j = 0; j < kWidth; ++j) sum += squares[j] > 0 ? errors[j] / squares[j] : 0;
  return sum;
}

// The root mean square of the columns' relative errors; NaN if a number is not finite.
double RoundingError(const SideBySide& weight) {
  const int64_t columns = weight.columns();
  // Added up in one order, whatever the threads do.
  std::vector<double> sums(DivCeil(columns, kWidth));
  ParallelFor(std::ssize(sums), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sums[i] = SquaredErrors(weight, i * kWidth, std::min(kWidth, columns - i * kWidth));
    }
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(columns));
}

}  // namespace

WeightChoice ChooseInt8(const SideBySide& weight, bool is_final, std::optional<double> error) {
  constexpr Precision kKept = Precision::kFloat32;
  const int64_t rows = weight.rows();
  const int64_t columns = weight.columns();
  const auto kept = [](std::string reason) { return WeightChoice{kKept, std::move(reason), {}}; };
  if (is_final) return kept("final: its result leaves the model");
  if (rows == 0 || columns == 0 || rows < DivCeil(kFewWeights, columns)) {
    return kept(absl::StrCat("small: ", rows, " x ", columns, " weights"));
  }
  if (rows > kMostInt8Rows) {
    return kept(absl::StrCat("long: sums of ", rows, " products may exceed 32 bits"));
  }
  if (!error.has_value()) error = RoundingError(weight);
  if (std::isnan(*error)) return {kKept, "its weights are not all finite", error};
  if (SuitsInt8(*error)) return {Precision::kInt8, "", error};
  return {Precision::kBfloat16,
          absl::StrFormat("outliers: rounding to 8 bits changes its weights by %.2g %%, more than "
                          "%g %%",
                          100 * *error, 100 * kMostWeightError),
          error};
}

}  // namespace attnrun::ops
