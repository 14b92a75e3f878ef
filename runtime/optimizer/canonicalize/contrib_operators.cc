#include "optimizer/canonicalize/contrib_operators.h"

#include "ops/contrib/contrib.h"
#include "ops/registry.h"
#include "optimizer/contrib/expansion.h"
#include "optimizer/each_node.h"

namespace attnrun {
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
    {kContribDomain, "Attention", ExpandPackedAttention},
    {kContribDomain, "BiasGelu", ExpandGelu},
    {kContribDomain, "BiasSplitGelu", ExpandBiasSplitGelu},
    {kContribDomain, "DequantizeLinear", ExpandContribQuantization},
    {kContribDomain, "DynamicQuantizeMatMul", ExpandDynamicQuantizeMatMul},
    {kContribDomain, "EmbedLayerNormalization", ExpandEmbedLayerNormalization},
    {kContribDomain, "FastGelu", ExpandFastGelu},
    {kContribDomain, "FusedGemm", ExpandFusedGemm},
    {kContribDomain, "FusedMatMul", ExpandFusedMatMul},
    {kContribDomain, "Gelu", ExpandGelu},
    {kContribDomain, "GroupQueryAttention", ExpandGroupQueryAttention},
    {kContribDomain, "MatMulIntegerToFloat", ExpandMatMulIntegerToFloat},
    {kContribDomain, "MultiHeadAttention", ExpandMultiHeadAttention},
    {kContribDomain, "QAttention", ExpandQAttention},
    {kContribDomain, "QEmbedLayerNormalization", ExpandQEmbedLayerNormalization},
    {kContribDomain, "QGemm", ExpandQGemm},
    {kContribDomain, "QLinearAdd", ExpandQLinear},
    {kContribDomain, "QLinearAveragePool", ExpandQLinear},
    {kContribDomain, "QLinearConcat", ExpandQLinear},
    {kContribDomain, "QLinearConv", ExpandQLinearConv},
    {kContribDomain, "QLinearGlobalAveragePool", ExpandQLinear},
    {kContribDomain, "QLinearLeakyRelu", ExpandQLinear},
    {kContribDomain, "QLinearMul", ExpandQLinear},
    {kContribDomain, "QLinearSigmoid", ExpandQLinear},
    {kContribDomain, "QLinearSoftmax", ExpandQLinear},
    {kContribDomain, "QLinearWhere", ExpandQLinear},
    {kContribDomain, "QuantizeLinear", ExpandContribQuantization},
    {kContribDomain, "QuickGelu", ExpandQuickGelu},
    {kContribDomain, "RotaryEmbedding", ExpandRotaryEmbedding},
    {kContribDomain, "SkipLayerNormalization", ExpandSkipLayerNormalization},
    {kContribDomain, "SkipSimplifiedLayerNormalization", ExpandSkipSimplifiedLayerNormalization},
    {kContribDomain, "TransposeMatMul", ExpandFusedMatMul},
};

Expand ExpansionOf(const Node& node) {
  for (const Entry& entry : kExpansions) {
    if (node.op_type() == entry.op_type && node.domain() == entry.domain) return entry.expand;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<int> ExpandContribOperators(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    const Expand expand = ExpansionOf(*node);
    // Inputs and attributes are as the operator has them.
    if (expand == nullptr || !OpRegistry::Get().Create(*node).ok()) return false;
    Expansion expansion(context, node, patch);
    if (!expand(expansion)) return false;
    return patch.CanApply() || expansion.Decline("an output is read that only the operator gives");
  });
}

}  // namespace attnrun
