// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_EACH_NODE_H_
#define ATTNRUN_OPTIMIZER_REWRITE_EACH_NODE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Calls `propose(node, patch)` for each node in order and applies the patch where it returns true.
// Skips nodes that an earlier patch has superseded. Returns the number of rewrites.
absl::StatusOr<int> RewriteEachNode(RuleContext& context, const std::vector<Node*>& nodes,
                                    absl::FunctionRef<bool(Node*, Patch&)> propose);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_EACH_NODE_H_
