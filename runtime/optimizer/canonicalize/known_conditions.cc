#include "optimizer/canonicalize/known_conditions.h"

#include "core/status.h"
#include "optimizer/conditions.h"
#include "optimizer/node_queries.h"
#include "optimizer/patch.h"

namespace attnrun {
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
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  int decided = 0;
  for (Node* node : order) {
    Value* result = Decided(*node, context.facts);
    if (result == nullptr || !HasEqualExtents(result, node->output(0), context.facts)) continue;
    Patch patch(context);
    patch.Supersede({node});
    patch.Replace(node->output(0), result);
    if (!patch.CanApply()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    decided += applied;
  }
  return decided;
}

}  // namespace attnrun
