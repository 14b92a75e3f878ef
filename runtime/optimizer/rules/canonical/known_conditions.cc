// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/canonical/known_conditions.h"

#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/each_node.h"

namespace attnrun::opt {
namespace {

// The input that the node gives back, perhaps broadcast; null if that is not known.
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

}  // namespace

absl::StatusOr<int> DecideConditions(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    Value* result = Decided(*node, context.facts);
    if (result == nullptr || !HasEqualExtents(result, node->output(0), context.facts)) return false;
    patch.Supersede({node});
    patch.Replace(node->output(0), result);
    return patch.CanApply();
  });
}

}  // namespace attnrun::opt
