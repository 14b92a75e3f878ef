// SPDX-License-Identifier: Apache-2.0
#include "ops/normalization/normalize_rows.h"

#include <cmath>

namespace attnrun::ops {

RowStatistics NormalizeRows(std::vector<double>& x, int64_t rows, int64_t length, double epsilon,
                            bool centered) {
  RowStatistics statistics{std::vector<double>(rows, 0), std::vector<double>(rows, 0)};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * length;
    double& mean = statistics.means[row];
    if (centered) {
      // Divides once, so that the mean of equal elements is exact.
      for (int64_t i = first; i < first + length; ++i) mean += x[i];
      mean /= static_cast<double>(length);
    }
    double variance = 0;
    for (int64_t i = first; i < first + length; ++i) {
      x[i] -= mean;
      variance += x[i] * x[i] / static_cast<double>(length);
    }
    const double inverse = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = first; i < first + length; ++i) x[i] *= inverse;
    statistics.inverses[row] = inverse;
  }
  return statistics;
}

}  // namespace attnrun::ops
