#include "optimizer/canonicalize/contrib_operators.h"

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

constexpr absl::string_view kMicrosoft = "com.microsoft";

constexpr Entry kExpansions[] = {
    {"", "SimplifiedLayerNormalization", ExpandSimplifiedLayerNormalization},
    {kMicrosoft, "Attention", ExpandPackedAttention},
    {kMicrosoft, "BiasGelu", ExpandGelu},
    {kMicrosoft, "BiasSplitGelu", ExpandBiasSplitGelu},
    {kMicrosoft, "DynamicQuantizeMatMul", ExpandDynamicQuantizeMatMul},
    {kMicrosoft, "EmbedLayerNormalization", ExpandEmbedLayerNormalization},
    {kMicrosoft, "FastGelu", ExpandFastGelu},
    {kMicrosoft, "FusedGemm", ExpandFusedGemm},
    {kMicrosoft, "FusedMatMul", ExpandFusedMatMul},
    {kMicrosoft, "Gelu", ExpandGelu},
    {kMicrosoft, "GroupQueryAttention", ExpandGroupQueryAttention},
    {kMicrosoft, "MatMulIntegerToFloat", ExpandMatMulIntegerToFloat},
    {kMicrosoft, "MultiHeadAttention", ExpandMultiHeadAttention},
    {kMicrosoft, "QuickGelu", ExpandQuickGelu},
    {kMicrosoft, "RotaryEmbedding", ExpandRotaryEmbedding},
    {kMicrosoft, "SkipLayerNormalization", ExpandSkipLayerNormalization},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", ExpandSkipSimplifiedLayerNormalization},
    {kMicrosoft, "TransposeMatMul", ExpandFusedMatMul},
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
