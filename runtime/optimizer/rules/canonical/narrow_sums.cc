// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/canonical/narrow_sums.h"

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/each_node.h"
#include "optimizer/rewrite/pattern.h"

namespace attnrun::opt {

absl::StatusOr<int> NarrowSums(PassContext& context) {
  Facts& facts = context.facts;
  Value* x = nullptr;
  Value* wide = nullptr;
  Value* axis = nullptr;
  Node* sum = nullptr;
  const Pattern narrowed =
      Op("Cast", {Op("CumSum", {Keep(&wide, Op("Cast", {Is(&x)})), Is(&axis)}, &sum)});
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    MatchedNodes nodes;
    if (!IsOp(node, "Cast") || !narrowed.Match(node->output(0), facts, nodes)) return false;
    const bool narrows = facts.TypeOf(node->output(0)) == DataType::kInt32;
    if (!narrows || facts.TypeOf(wide) != DataType::kInt64) return false;
    if (facts.TypeOf(x) != DataType::kInt32) return false;
    // Others may read the widened integers.
    patch.Supersede({node, sum});
    if (!patch.Admits({node->output(0)}, nullptr)) return false;
    patch.Replace(node->output(0), patch.Op("CumSum", {x, axis}, sum->attributes(), sum->name()));
    return true;
  });
}

}  // namespace attnrun::opt
