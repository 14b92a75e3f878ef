// SPDX-License-Identifier: Apache-2.0

// Exporters write SiLU, and the quick form of Gelu (alpha = 1.702), as a product with a Sigmoid:
//
//   x -----------------.                    x
//   |                   |                   |
//   [Mul alpha]         |       ->     Swish(alpha)
//   |                   |                   |
//   Sigmoid ---------- Mul -> y             y

#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/activation/gated_input.h"

namespace attnrun::opt {
namespace {

bool FuseSwish(RuleContext& context, Node* node, Patch& patch) {
  for (const GatedInput& gated : FindGatedInputs(node, 0, 1, context.facts)) {
    const double alpha = gated.polynomial[1];
    if (gated.coefficient != 1 || alpha == 0 || gated.polynomial != Cubic{0, alpha}) continue;
    return ReplaceGatedInput(context, patch, *node, gated, "Swish",
                             {{"alpha", static_cast<float>(alpha)}});
  }
  return false;
}

}  // namespace

extern const Rule kSwish = {.name = "swish",
                            .summary = "x * Sigmoid(alpha * x) becomes Swish",
                            .anchors = {"Sigmoid"},
                            .propose = FuseSwish};

}  // namespace attnrun::opt
