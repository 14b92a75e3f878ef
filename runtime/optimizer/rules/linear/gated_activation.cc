// SPDX-License-Identifier: Apache-2.0

// A gated feed-forward network multiplies one half of its first product, after an activation, by
// the other half. One operator does that in a single reading of the rows:
//
//     Linear [gate up]                      Linear [gate up]
//        |                                     |
//      Split                        ->      GatedActivation {activation = "Silu"}
//      /    \  .                               |
//   Swish    |                                 y
//      \    /
//       Mul
//        |
//        y

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/activation/ending.h"

namespace attnrun::opt {
namespace {

bool FuseGatedActivation(RuleContext& context, Node* node, Patch& patch) {
  for (const auto& [value, other] : ReadingsOf(node)) {
    Node* activation = value->producer();
    if (activation == nullptr || value == other) continue;
    const auto ending = EndingOf(activation, context.facts);
    if (!ending.has_value()) continue;
    const auto gate = ColumnsOf(ending->x, context.facts);
    const auto up = ColumnsOf(other, context.facts);
    if (!gate.has_value() || !up.has_value() || gate->step != 1 || up->step != 1) continue;
    if (gate->base != up->base || gate->width != up->width) continue;
    patch.Supersede({node, activation});
    AttributeMap attributes = ending->attributes;
    attributes.insert({{"width", gate->width}, {"gate", gate->first}, {"up", up->first}});
    return patch.Replace(node->output(0), patch.Op("attnrun::GatedActivation", {gate->base},
                                                   std::move(attributes), node->name()));
  }
  return false;
}

}  // namespace

extern const Rule kGatedActivation = {
    .name = "gated_activation",
    .summary = "activation(gate) * up over one packed projection becomes attnrun.GatedActivation",
    .anchors = {"Mul"},
    .propose = FuseGatedActivation};

}  // namespace attnrun::opt
