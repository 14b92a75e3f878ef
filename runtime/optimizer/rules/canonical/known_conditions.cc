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

// Replaces the node by the input that it selects, unless that is broadcast.
bool ReplaceBy(Value* selected, Facts& facts, Node* node, Patch& patch) {
  const auto& dims = facts.Of(selected).dims;
  if (!dims.has_value() || dims != facts.Of(node->output(0)).dims) return false;
  return patch.Substitute(node, selected) && patch.CanApply();
}

bool Choose(RuleContext& context, Node* node, Patch& patch) {
  const auto condition = KnownCondition(node->input(0), context.facts);
  return condition.has_value() &&
         ReplaceBy(node->input(*condition ? 1 : 2), context.facts, node, patch);
}

// Decides an operator on two conditions that is the other one where one of them is `neutral`.
template <bool neutral>
bool DropNeutral(RuleContext& context, Node* node, Patch& patch) {
  for (const auto& [condition, other] : ReadingsOf(node)) {
    if (KnownCondition(condition, context.facts) != neutral) continue;
    return ReplaceBy(other, context.facts, node, patch);
  }
  return false;
}

}  // namespace

extern const Rule kKnownConditions = {
    .name = "known_conditions",
    .summary = "A node with a condition that is the same in every run becomes the selected input",
    .starts = {{{"Where", Choose}, {"And", DropNeutral<true>}, {"Or", DropNeutral<false>}}}};

}  // namespace attnrun::opt
