// SPDX-License-Identifier: Apache-2.0

// Makes the operators behind a product a part of it. The kernel then applies them to each tile of
// the result while the tile is in cache:
//
//   x  W  b                    x  W  b
//    \ | /                      \ | /
//   Linear        ->           Linear {activation = "Gelu"}
//      |                          |
//    Gelu                         y
//      |
//      y
//
//   x  W  b                    x  W  b
//    \ | /                      \ | /
//   Linear   r    ->           Linear -- r
//        \  /                     |
//        Add                      y
//         |
//         y

#include <string>
#include <vector>

#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {
namespace {

// The Linear that computes the value, if the value has one reader and the Linear has no epilogue
// yet.
Node* PlainLinear(const RuleContext& context, const Value* value) {
  Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || !IsLinear(*node)) return nullptr;
  if (value->consumers().size() != 1 || context.graph.IsOutput(value)) return nullptr;
  return node->input(ops::LinearInputs::kResidual) == nullptr ? node : nullptr;
}

bool FuseActivation(RuleContext& context, Node* node, Patch& patch) {
  const std::string activation = ActivationName(*node);
  if (activation.empty()) return false;
  Node* linear = PlainLinear(context, node->input(0));
  if (linear == nullptr) return false;
  LinearParts parts = LinearParts::Of(*linear);
  if (!parts.activation.empty()) return false;
  parts.activation = activation;
  patch.Supersede({linear, node});
  patch.Replace(node->output(0), parts.Write(patch, linear->name()));
  return true;
}

bool FuseResidual(RuleContext& context, Node* node, Patch& patch) {
  for (const int side : {0, 1}) {
    Node* linear = PlainLinear(context, node->input(side));
    Value* residual = node->input(1 - side);
    if (linear == nullptr || residual == node->input(side)) continue;
    const std::vector<SymInt>* dims = context.facts.DimsOf(linear->output(0));
    const std::vector<SymInt>* term = context.facts.DimsOf(residual);
    if (dims == nullptr || term == nullptr || !BroadcastsTo(*term, *dims)) continue;
    if (context.facts.TypeOf(residual) != context.facts.TypeOf(linear->output(0))) continue;
    patch.Supersede({linear, node});
    LinearParts parts = LinearParts::Of(*linear);
    parts.residual = residual;
    patch.Replace(node->output(0), parts.Write(patch, linear->name()));
    return true;
  }
  return false;
}

}  // namespace

extern const Rule kActivation = {.name = "activation",
                                 .summary = "An activation joins the Linear before it",
                                 .anchors = {"Relu", "Tanh", "Sigmoid", "Gelu", "Swish"},
                                 .propose = FuseActivation};

extern const Rule kResidual = {.name = "residual",
                               .summary = "A sum with a residual joins the Linear before it",
                               .anchors = {"Add"},
                               .propose = FuseResidual};

}  // namespace attnrun::opt
