// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_PARTS_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_PARTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "ops/linear/linear_inputs.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// One of the matrices by which an attnrun.Linear multiplies.
struct LinearWeightParts : ops::LinearWeight<Value*> {
  // True if its columns lie along the first axis of the values, as they always do with nbit.
  bool transposed = false;

  // The number of columns, N. Precondition: the values are constant.
  int64_t Columns() const { return values->constant()->dim(transposed ? 0 : 1); }
};

// The inputs and attributes of an attnrun.Linear. Rules read and write the operator through these,
// whatever the format of its weights.
struct LinearParts {
  ops::LinearFormat format = ops::LinearFormat::kFloat;
  Value* x = nullptr;
  // With int8 only.
  Value* x_scale = nullptr;
  Value* x_zero_point = nullptr;
  std::vector<LinearWeightParts> weights = {};
  Value* bias = nullptr;
  Value* residual = nullptr;
  // The attributes of its activation, if it has one.
  AttributeMap ending = {};
  // K, bits and block_size with nbit.
  std::array<int64_t, 3> blocks = {};

  // Precondition: IsLinear(node).
  static LinearParts Of(const Node& node);

  Value* Write(Patch& patch, absl::string_view name) const;

  // The number of columns of all weights, which must be constant.
  int64_t Columns() const;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_PARTS_H_
