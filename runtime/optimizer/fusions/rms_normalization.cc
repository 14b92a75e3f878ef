#include "optimizer/fusions/rms_normalization.h"

#include "optimizer/each_node.h"
#include "optimizer/fusions/normalized_rows.h"
#include "optimizer/node_queries.h"

namespace attnrun {

absl::StatusOr<int> FuseRmsNormalization(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    if (IsOp(node, "RMSNormalization")) return ScaleByReader(context, patch, node);
    auto rows = FindNormalizedRows(node, context.facts);
    if (!rows.has_value()) return false;
    TakeRowParameters(context.graph, context.facts, false, *rows);
    return ReplaceRows(context, patch, *node, "RMSNormalization", *rows);
  });
}

}  // namespace attnrun
