// SPDX-License-Identifier: Apache-2.0

// Sentence embeddings average a text's tokens, without the padding. Exporters write this mean out
// as two sums and a quotient, which become one MaskedMean:
//
//   mask [B, S] -> Unsqueeze, Cast, perhaps Expand -> m [B, S, 1] or [B, S, D]
//   ReduceSum(Mul(x, m), 1) / Clip(ReduceSum(m, 1), min)
//   -->
//   MaskedMean(x, mask) {min_count}

#include <utility>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The value [B, S] that `m`, [B, S, 1] or [B, S, D], repeats along the last axis; null if there is
// none.
Value* RepeatedBy(Value* m, Facts& facts) {
  const std::vector<SymInt>* known = facts.DimsOf(m);
  if (known == nullptr || known->size() != 3) return nullptr;
  const std::vector<SymInt> target = *known;
  for (const Traced& traced : Trace(m, facts)) {
    const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
    if (dims.size() != 2) continue;
    const auto repeated = View::Dense(dims).Unsqueezed(2).Expanded(target);
    if (repeated.has_value() && *repeated == traced.view) return traced.base;
  }
  return nullptr;
}

// A mask before a Cast; null for other values.
Value* BeforeCast(const Value* value, Facts& facts) {
  const Node* node = ProducerOf(value, "Cast");
  if (node == nullptr) return nullptr;
  const DataType from = facts.TypeOf(node->input(0));
  const bool counts =
      from == DataType::kBool || from == DataType::kInt32 || from == DataType::kInt64;
  return counts ? node->input(0) : nullptr;
}

// The mask [B, S] that `m` repeats, with or without a Cast before or after.
Value* MaskOf(Value* m, Facts& facts) {
  if (Value* uncast = BeforeCast(m, facts)) return RepeatedBy(uncast, facts);
  Value* mask = RepeatedBy(m, facts);
  if (mask == nullptr) return nullptr;
  Value* uncast = BeforeCast(mask, facts);
  return uncast != nullptr ? uncast : mask;
}

// True if the node sums over axis 1 alone and drops it.
bool SumsTokens(const Node& sum, Facts& facts) {
  return facts.RankOf(sum.input(0)) == 3 && AttributeOr<int64_t>(sum, "keepdims", 1) == 0 &&
         OnlyAxis(sum, 3, facts) == 1;
}

// Clip(count, min) or Max(count, min).
Pattern AtLeast(const Pattern& count, double* min) {
  return OneOf({Op("Clip", {count, Scalar(min)}), Op("Max", {count, Scalar(min)})});
}

bool FuseMaskedMean(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* x = nullptr;
  Value* m = nullptr;
  Value* counted = nullptr;
  Node* sum = nullptr;
  Node* count = nullptr;
  double min = 0;
  MatchedNodes nodes;
  const Pattern weighted = Op("ReduceSum", {Op("Mul", {Is(&x), Is(&m)}), Rest()}, &sum);
  const Pattern mean =
      Op("Div", {weighted, AtLeast(Op("ReduceSum", {Is(&counted), Rest()}, &count), &min)});
  if (!mean.Match(node->output(0), facts, nodes)) return false;
  if (!SumsTokens(*sum, facts) || !SumsTokens(*count, facts)) return false;
  // One of the two factors must be the mask that is counted.
  Value* mask = MaskOf(counted, facts);
  if (mask == nullptr) return false;
  if (MaskOf(m, facts) != mask) std::swap(x, m);
  const std::vector<SymInt>* dims = facts.DimsOf(x);
  const std::vector<SymInt>* mask_dims = facts.DimsOf(mask);
  if (MaskOf(m, facts) != mask || dims == nullptr || dims->size() != 3) return false;
  if ((*dims)[0] != (*mask_dims)[0] || (*dims)[1] != (*mask_dims)[1]) return false;
  if (facts.TypeOf(x) != DataType::kFloat) return false;
  if (facts.Of(node->output(0)).dims != std::vector<SymInt>{(*dims)[0], (*dims)[2]}) return false;
  patch.Supersede(nodes);
  AttributeMap attributes;
  attributes["min_count"] = static_cast<float>(min);
  return patch.Replace(node->output(0),
                       patch.Op("attnrun::MaskedMean", {x, mask}, attributes, node->name()));
}

}  // namespace

extern const Rule kMaskedMean = {
    .name = "masked_mean",
    .summary = "The mean over a text's tokens becomes attnrun.MaskedMean",
    .anchors = {"Div"},
    .propose = FuseMaskedMean};

}  // namespace attnrun::opt
