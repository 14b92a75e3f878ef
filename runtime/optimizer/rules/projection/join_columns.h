// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_JOIN_COLUMNS_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_JOIN_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::opt {

// What the columns of a matrix have one of each, as a bias.
struct ColumnConstant {
  // One element per column, or one for all; null: zeros.
  const Tensor* tensor = nullptr;
  int64_t columns = 0;
};

// That of matrices side by side: [the sum of their columns], of `type`, which the tensors have.
absl::StatusOr<Tensor> JoinColumns(const std::vector<ColumnConstant>& parts, DataType type);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_JOIN_COLUMNS_H_
