// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_WEIGHTS_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// One of the matrices by which a node multiplies (see IsLinear).
struct LinearWeight {
  // The numbers, or the codes that stand for them.
  Value* value = nullptr;
  bool transposed = false;
  // Null unless `value` holds codes, which may have no zero points.
  Value* scales = nullptr;
  Value* zero_points = nullptr;

  // All values of the weight; null for those it does not have.
  std::vector<Value*> Parts() const { return {value, scales, zero_points}; }
  // The number of columns, N. Precondition: `value` is constant.
  int64_t Columns() const;
};

// Precondition of all functions below: IsLinear(node).
std::vector<LinearWeight> WeightsOf(const Node& node);
std::vector<LinearWeight> WeightsOf(const std::vector<Node*>& linears);

// The number of columns of all its weights, which must be constant.
int64_t Columns(const Node& linear);

// True if the weights, their scales and their zero points are constant; the bias need not be.
bool HasConstantWeights(const Node& linear);

// True if one node can multiply by the weights of all nodes. If the shapes of weights disagree, the
// model fails in a run anyway.
bool CanStandSideBySide(const std::vector<Node*>& linears);

// Writes a node of the same kind over the weights side by side, with this bias, which may be null.
Value* SideBySide(Patch& patch, const std::vector<Node*>& linears, Value* bias);

// Input `input` of all nodes, joined to one element for each column. A single element counts for
// all columns of its node, an absent input for zeros. Null if no node has the input.
Value* JoinedColumns(Patch& patch, const std::vector<Node*>& linears, int input,
                     absl::string_view name);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_WEIGHTS_H_
