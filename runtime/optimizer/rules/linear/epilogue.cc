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
//
// The same holds for attnrun.Conv, which may also apply the activation to the sum with the
// residual.

#include <algorithm>
#include <vector>

#include "ops/conv/channels_last_conv.h"
#include "ops/linear/linear_inputs.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/activation/ending.h"

namespace attnrun::opt {
namespace {

// True for products that may end with a residual and an activation.
bool IsProduct(const Node& node) {
  return IsLinear(node) || (node.domain() == "attnrun" && node.op_type() == "Conv");
}

// The input that holds the residual.
int ResidualInput(const Node& product) {
  return IsLinear(product) ? ops::LinearInputs::kResidual : ops::ChannelsLastConv::kResidual;
}

// The product that computes the value, if nobody else reads the value.
Node* ProductOf(const RuleContext& context, const Value* value) {
  Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || !IsProduct(*node)) return nullptr;
  const bool is_shared = value->consumers().size() != 1 || context.graph.IsOutput(value);
  return is_shared ? nullptr : node;
}

bool HasResidual(const Node& product) { return product.input(ResidualInput(product)) != nullptr; }

bool FuseActivation(RuleContext& context, Node* node, Patch& patch) {
  auto ending = EndingOf(node, context.facts);
  if (!ending.has_value()) return false;
  Node* product = ProductOf(context, ending->x);
  if (product == nullptr || !EndingAttributes(*product).empty()) return false;
  AttributeMap attributes = product->attributes();
  if (HasResidual(*product)) {
    if (IsLinear(*product)) return false;
    attributes[ops::ChannelsLastConv::kResidualFirst] = int64_t{1};
  }
  attributes.insert(ending->attributes);
  return patch.Substitute({product, node}, node->output(0),
                          patch.Again(*product, product->inputs(), attributes)[0]);
}

// True if the product may add the residual: a Linear broadcasts it.
bool MayAdd(const Node& product, const Value* residual, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(product.output(0));
  const std::vector<SymInt>* term = facts.DimsOf(residual);
  if (dims == nullptr || term == nullptr) return false;
  if (!(IsLinear(product) ? BroadcastsTo(*term, *dims) : *term == *dims)) return false;
  return facts.TypeOf(residual) == facts.TypeOf(product.output(0));
}

bool FuseResidual(RuleContext& context, Node* node, Patch& patch) {
  for (const auto& [value, residual] : ReadingsOf(node)) {
    Node* product = ProductOf(context, value);
    if (product == nullptr || HasResidual(*product) || residual == value) continue;
    if (!MayAdd(*product, residual, context.facts)) continue;
    std::vector<Value*> inputs = product->inputs();
    const size_t at = ResidualInput(*product);
    inputs.resize(std::max(inputs.size(), at + 1), nullptr);
    inputs[at] = residual;
    return patch.Substitute({product, node}, node->output(0),
                            patch.Again(*product, inputs, product->attributes())[0]);
  }
  return false;
}

}  // namespace

extern const Rule kActivation = {
    .name = "activation",
    .summary = "An activation joins the Linear or convolution before it",
    .anchors = {"Relu", "Tanh", "Sigmoid", "Gelu", "Swish", "HardSigmoid", "HardSwish", "LeakyRelu",
                "Mish", "Clip", "Max", "Min", "PRelu"},
    .propose = FuseActivation};

extern const Rule kResidual = {
    .name = "residual",
    .summary = "A sum with a residual joins the Linear or convolution before it",
    .anchors = {"Add"},
    .propose = FuseResidual};

}  // namespace attnrun::opt
