// SPDX-License-Identifier: Apache-2.0

// Exporters write guards that never or always apply, for example for negative positions. A node
// whose condition is the same in every run is replaced by the input that it selects:
//
//   And(x, true), Or(x, false)  ->  x
//   Where(true, x, y)           ->  x
//   Where(false, x, y)          ->  y
//
// This requires x to have the extents of the result, so that nothing is broadcast. Such conditions
// are comparisons of positions with each other or with extents, Range(0, n) >= 0 or < n, and the
// question if a Softmax is infinite, which nan_to_num asks.

#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The input that the node selects, perhaps broadcast; null if that is not known.
Value* Decided(const Node& node, Facts& facts) {
  if (IsOp(&node, "Where")) {
    const auto condition = KnownCondition(node.input(0), facts);
    if (!condition.has_value()) return nullptr;
    return node.input(*condition ? 1 : 2);
  }
  const bool is_and = IsOp(&node, "And");
  if (!is_and && !IsOp(&node, "Or")) return nullptr;
  for (const int side : {0, 1}) {
    if (KnownCondition(node.input(side), facts) == is_and) return node.input(1 - side);
  }
  return nullptr;
}

bool HasEqualExtents(const Value* a, const Value* b, Facts& facts) {
  const std::vector<SymInt>* dims_a = facts.DimsOf(a);
  const std::vector<SymInt>* dims_b = facts.DimsOf(b);
  return dims_a != nullptr && dims_b != nullptr && *dims_a == *dims_b;
}

bool DecideConditions(RuleContext& context, Node* node, Patch& patch) {
  Value* result = Decided(*node, context.facts);
  if (result == nullptr || !HasEqualExtents(result, node->output(0), context.facts)) return false;
  patch.Supersede({node});
  patch.Replace(node->output(0), result);
  return patch.CanApply();
}

}  // namespace

extern const Rule kKnownConditions = {
    .name = "known_conditions",
    .summary = "A node with a condition that is the same in every run becomes the selected input",
    .anchors = {"Where", "And", "Or"},
    .propose = DecideConditions};

}  // namespace attnrun::opt
