// SPDX-License-Identifier: Apache-2.0

// Rewrites ONNX Runtime's own operators (domain com.microsoft), which its tools write into files,
// as operators that all other rules know, for example:
//
//   x  skip  gamma  beta  bias                   x  bias
//    \   \     |     /   /                        \  /
//   SkipLayerNormalization           ->     skip  Add
//      |             |                         \  /
//      y            sum                        Add -- sum
//                                               |   gamma  beta
//                                        LayerNormalization
//                                               |
//                                               y

#include "ops/interface/registry.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {
namespace {

struct Entry {
  absl::string_view domain;
  absl::string_view op_type;
  Expand expand;
};

constexpr Entry kExpansions[] = {
    {"", "QLinearConv", ExpandQLinearConv},
    {"", "QLinearMatMul", ExpandQLinearMatMul},
    {"", "SimplifiedLayerNormalization", ExpandSimplifiedLayerNormalization},
    {ops::kContribDomain, "Attention", ExpandContribAttention},
    {ops::kContribDomain, "BiasGelu", ExpandGelu},
    {ops::kContribDomain, "BiasSplitGelu", ExpandBiasSplitGelu},
    {ops::kContribDomain, "DequantizeLinear", ExpandContribQuantization},
    {ops::kContribDomain, "DynamicQuantizeMatMul", ExpandDynamicQuantizeMatMul},
    {ops::kContribDomain, "EmbedLayerNormalization", ExpandEmbedLayerNormalization},
    {ops::kContribDomain, "FastGelu", ExpandFastGelu},
    {ops::kContribDomain, "FusedGemm", ExpandFusedGemm},
    {ops::kContribDomain, "FusedMatMul", ExpandFusedMatMul},
    {ops::kContribDomain, "Gelu", ExpandGelu},
    {ops::kContribDomain, "GroupQueryAttention", ExpandGroupQueryAttention},
    {ops::kContribDomain, "MatMulIntegerToFloat", ExpandMatMulIntegerToFloat},
    {ops::kContribDomain, "MultiHeadAttention", ExpandMultiHeadAttention},
    {ops::kContribDomain, "QAttention", ExpandQAttention},
    {ops::kContribDomain, "QEmbedLayerNormalization", ExpandQEmbedLayerNormalization},
    {ops::kContribDomain, "QGemm", ExpandQGemm},
    {ops::kContribDomain, "QLinearAdd", ExpandQLinear},
    {ops::kContribDomain, "QLinearAveragePool", ExpandQLinear},
    {ops::kContribDomain, "QLinearConcat", ExpandQLinear},
    {ops::kContribDomain, "QLinearConv", ExpandQLinearConv},
    {ops::kContribDomain, "QLinearGlobalAveragePool", ExpandQLinear},
    {ops::kContribDomain, "QLinearLeakyRelu", ExpandQLinear},
    {ops::kContribDomain, "QLinearMul", ExpandQLinear},
    {ops::kContribDomain, "QLinearSigmoid", ExpandQLinear},
    {ops::kContribDomain, "QLinearSoftmax", ExpandQLinear},
    {ops::kContribDomain, "QLinearWhere", ExpandQLinear},
    {ops::kContribDomain, "QuantizeLinear", ExpandContribQuantization},
    {ops::kContribDomain, "QuickGelu", ExpandQuickGelu},
    {ops::kContribDomain, "RotaryEmbedding", ExpandRotaryEmbedding},
    {ops::kContribDomain, "SkipLayerNormalization", ExpandSkipLayerNormalization},
    {ops::kContribDomain, "SkipSimplifiedLayerNormalization",
     ExpandSkipSimplifiedLayerNormalization},
    {ops::kContribDomain, "TransposeMatMul", ExpandFusedMatMul},
};

// Null if there is none.
Expand ExpansionOf(absl::string_view domain, absl::string_view op_type) {
  for (const Entry& entry : kExpansions) {
    if (op_type == entry.op_type && domain == entry.domain) return entry.expand;
  }
  return nullptr;
}

bool ExpandContribOperators(RuleContext& context, Node* node, Patch& patch) {
  const Expand expand = ExpansionOf(node->domain(), node->op_type());
  // Only valid nodes are expanded: expansions rely on the operator's inputs and attributes.
  if (expand == nullptr || !ops::OpRegistry::Get().Create(*node).ok()) return false;
  Expansion expansion(context, node, patch);
  if (!expand(expansion)) return false;
  return patch.CanApply() || expansion.Decline("an output is read that only the operator gives");
}

}  // namespace

bool IsExpandedContribOperator(absl::string_view domain, absl::string_view op_type) {
  return ExpansionOf(domain, op_type) != nullptr;
}

extern const Rule kContribOperators = {
    .name = "contrib_operators",
    .summary =
        "An operator of com.microsoft is written in operators of the standard and of attnrun",
    .propose = ExpandContribOperators};

}  // namespace attnrun::opt
