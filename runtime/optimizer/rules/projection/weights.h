// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_WEIGHTS_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// One of the matrices that a node multiplies by (see IsLinear).
struct LinearWeight {
  // The numbers, or their codes.
  Value* value = nullptr;
  bool transposed = false;
  // Of codes, else null; these may be without zero points.
  Value* scales = nullptr;
  Value* zero_points = nullptr;

  // What the weight is made of, null for nothing.
  std::vector<Value*> Parts() const { return {value, scales, zero_points}; }
  // N. Precondition: `value` is constant.
  int64_t Columns() const;
};

// Precondition of all below: IsLinear(node).
std::vector<LinearWeight> WeightsOf(const Node& node);
std::vector<LinearWeight> WeightsOf(const std::vector<Node*>& linears);

// The columns of all its weights, which are constant.
int64_t Columns(const Node& linear);

// True if weights and all that belongs to their columns, but for the bias, are constant.
bool HasConstantWeights(const Node& linear);

// True if one node can multiply by the weights of all; where the weights do not fit together
// themselves, the model fails when it runs.
bool CanStandSideBySide(const std::vector<Node*>& linears);

// A node of the same kind over the weights side by side, with this bias, which may be null.
Value* SideBySide(Patch& patch, const std::vector<Node*>& linears, Value* bias);

// Input `input` of each, one element per column, one after the other: one element stands for all
// columns of its node, none for zeros. Null if none of them has any.
Value* JoinedColumns(Patch& patch, const std::vector<Node*>& linears, int input,
                     absl::string_view name);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_WEIGHTS_H_
