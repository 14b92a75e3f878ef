// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/activation/swish.h"

#include "optimizer/rewrite/each_node.h"
#include "optimizer/rules/activation/gated_input.h"

namespace attnrun::opt {

absl::StatusOr<int> FuseSwish(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    if (!node->domain().empty() || node->op_type() != "Sigmoid") return false;
    for (const GatedInput& gated : FindGatedInputs(node, 0, 1, context.facts)) {
      const double alpha = gated.polynomial[1];
      if (gated.coefficient != 1 || alpha == 0 || gated.polynomial != Cubic{0, alpha}) continue;
      return ReplaceGatedInput(context, patch, *node, gated, "Swish",
                               {{"alpha", static_cast<float>(alpha)}});
    }
    return false;
  });
}

}  // namespace attnrun::opt
