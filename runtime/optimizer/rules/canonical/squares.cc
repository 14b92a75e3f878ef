// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/canonical/squares.h"

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/each_node.h"

namespace attnrun::opt {

absl::StatusOr<int> MultiplySquares(PassContext& context) {
  Facts& facts = context.facts;
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    if (!IsOp(node, "Pow") || ScalarOf(node->input(1)) != 2) return false;
    Value* x = node->input(0);
    // An exponent of more axes than x would add some.
    const int rank = facts.RankOf(x);
    if (rank < 0 || facts.RankOf(node->output(0)) != rank) return false;
    patch.Supersede({node});
    patch.Replace(node->output(0), patch.Op("Mul", {x, x}, {}, node->name()));
    return true;
  });
}

}  // namespace attnrun::opt
