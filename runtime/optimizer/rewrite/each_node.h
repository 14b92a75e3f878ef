// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_EACH_NODE_H_
#define ATTNRUN_OPTIMIZER_REWRITE_EACH_NODE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/status.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Calls `propose(node, patch)` for the nodes of the graph in topological order that compute their
// first output, and applies the patch where it returns true. `superseded` of the patch may include
// nodes that have not had their turn: they are passed over. Returns the number of rewrites.
inline absl::StatusOr<int> RewriteEachNode(PassContext& context,
                                           absl::FunctionRef<bool(Node*, Patch&)> propose) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  absl::flat_hash_set<const Node*> removed;
  int rewrites = 0;
  for (Node* node : order) {
    if (removed.contains(node) || node->output(0) == nullptr) continue;
    Patch patch(context);
    if (!propose(node, patch)) continue;
    removed.insert(patch.superseded().begin(), patch.superseded().end());
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    rewrites += applied;
  }
  return rewrites;
}

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_EACH_NODE_H_
