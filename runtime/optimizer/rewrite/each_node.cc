// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/each_node.h"

#include "absl/container/flat_hash_set.h"
#include "core/status.h"

namespace attnrun::opt {

absl::StatusOr<int> RewriteEachNode(RuleContext& context, const std::vector<Node*>& nodes,
                                    absl::FunctionRef<bool(Node*, Patch&)> propose) {
  absl::flat_hash_set<const Node*> removed;
  int rewrites = 0;
  for (Node* node : nodes) {
    if (removed.contains(node)) continue;
    Patch patch(context);
    if (!propose(node, patch)) continue;
    removed.insert(patch.superseded().begin(), patch.superseded().end());
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    rewrites += applied;
  }
  return rewrites;
}

}  // namespace attnrun::opt
