// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_JOIN_COLUMNS_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_JOIN_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::opt {

// A constant with one element for each column of a matrix, such as a bias.
struct ColumnConstant {
  // One element for each column, or one for all; null means zeros.
  const Tensor* tensor = nullptr;
  int64_t columns = 0;
};

// The constants of matrices side by side as one of shape [the sum of their columns]. `type` is the
// type of all tensors.
absl::StatusOr<Tensor> JoinColumns(const std::vector<ColumnConstant>& parts, DataType type);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_JOIN_COLUMNS_H_
