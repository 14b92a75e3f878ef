// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NORMALIZATION_NORMALIZE_ROWS_H_
#define ATTNRUN_OPS_NORMALIZATION_NORMALIZE_ROWS_H_

#include <cstdint>
#include <vector>

namespace attnrun::ops {

// The statistics that rows were normalized by, one of each per row.
struct RowStatistics {
  // 0 unless they were centered.
  std::vector<double> means;
  // 1 / sqrt(variance + epsilon).
  std::vector<double> inverses;
};

// For reference code: replaces each row of `length` numbers by (x - mean) / sqrt(variance +
// epsilon). The mean is 0 unless `centered`, and the variance is the mean of (x - mean)^2.
// Precondition: x has rows * length elements.
RowStatistics NormalizeRows(std::vector<double>& x, int64_t rows, int64_t length, double epsilon,
                            bool centered);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NORMALIZATION_NORMALIZE_ROWS_H_
