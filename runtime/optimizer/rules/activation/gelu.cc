// SPDX-License-Identifier: Apache-2.0

// Opsets before 20 lack Gelu, so exporters write it out, in its exact form:
//
//   x ---------------.                                x
//   |                 |                               |
//   Div(sqrt 2)       |                             Gelu
//   |                 |                    ->         |
//   Erf, Add 1 ----- Mul, Mul(0.5) -> y               y
//
// or as 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), which becomes Gelu with approximate =
// "tanh". The factors may stand in any order, and the polynomial may be written in any way.

#include <numbers>

#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/activation/gated_input.h"

namespace attnrun::opt {
namespace {

const double kSqrtTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
const Cubic kErfArgument = {0, 1 / std::numbers::sqrt2};
const Cubic kTanhArgument = {0, kSqrtTwoOverPi, 0, kSqrtTwoOverPi * 0.044715};

template <bool tanh>
bool FuseGelu(RuleContext& context, Node* node, Patch& patch) {
  for (const GatedInput& gated : FindGatedInputs(node, 1, 0.5, context.facts)) {
    const DataType type = context.facts.TypeOf(gated.x);
    if (!IsClose(gated.coefficient, 0.5, type)) continue;
    if (!IsClose(gated.polynomial, tanh ? kTanhArgument : kErfArgument, type)) continue;
    AttributeMap attributes;
    if (tanh) attributes["approximate"] = std::string("tanh");
    return ReplaceGatedInput(context, patch, *node, gated, "Gelu", std::move(attributes));
  }
  return false;
}

}  // namespace

extern const Rule kGelu = {.name = "gelu",
                           .summary = "Gelu written out, exact or by tanh, becomes Gelu",
                           .starts = {{{"Erf", FuseGelu<false>}, {"Tanh", FuseGelu<true>}}}};

}  // namespace attnrun::opt
