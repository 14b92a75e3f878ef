// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/activation/gelu.h"

#include <numbers>

#include "optimizer/rewrite/each_node.h"
#include "optimizer/rules/activation/gated_input.h"

namespace attnrun::opt {
namespace {

const double kSqrtTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
const Cubic kErfArgument = {0, 1 / std::numbers::sqrt2};
const Cubic kTanhArgument = {0, kSqrtTwoOverPi, 0, kSqrtTwoOverPi * 0.044715};

}  // namespace

absl::StatusOr<int> FuseGelu(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    const bool tanh = node->op_type() == "Tanh";
    if (!node->domain().empty() || (!tanh && node->op_type() != "Erf")) return false;
    for (const GatedInput& gated : FindGatedInputs(node, 1, 0.5, context.facts)) {
      const DataType type = context.facts.TypeOf(gated.x);
      if (!IsClose(gated.coefficient, 0.5, type)) continue;
      if (!IsClose(gated.polynomial, tanh ? kTanhArgument : kErfArgument, type)) continue;
      AttributeMap attributes;
      if (tanh) attributes["approximate"] = std::string("tanh");
      return ReplaceGatedInput(context, patch, *node, gated, "Gelu", std::move(attributes));
    }
    return false;
  });
}

}  // namespace attnrun::opt
