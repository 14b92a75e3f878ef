// SPDX-License-Identifier: Apache-2.0

// The biases of T5 and the indices of DeBERTa depend on the distance between a key and a query, but
// exporters compute them for each pair. They are computed once for each distance:
//
//   keys [T]   queries [S, 1]            keys        queries
//      |         |                         |         |     |
//      Sub [S, T]                       RelativePositions  |   [1, S + T]
//          |                                    |          |
//   Abs, Less, Log, Where, ...      ->   Abs, Less, ...    |
//          |                                    |          |
//   Gather(table) [S, T, N]             Gather [1, S+T, N] |
//          |                                    |          |
//   Transpose [N, S, T]                 Transpose          |   [N, 1, S + T]
//          |                                    |          |
//   Attention's bias                      RelativeToAbsolute   a view
//                                               |
//                                         Attention's bias

#include <string>

#include "ops/attention/fused_attention.h"
#include "ops/relative/relative_scores.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/relative/distances.h"

namespace attnrun::opt {
namespace {

// True if the node can read this input through a view whose rows overlap.
bool ReadsInPlace(const Node& node, const Value* value) {
  const std::string op = node.qualified_op_type();
  const auto reads = [&](size_t place) {
    if (op == "attnrun.Attention") return place == ops::FusedAttention::kBias;
    if (op == "attnrun.TakeAlongAxis") return place == 1;
    return op == "attnrun.RelativeScores" && place % ops::RelativeScores::kInputsPerTerm == 2;
  };
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) == value && !reads(i)) return false;
  }
  return true;
}

bool ComputePerDistance(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* value = node->output(0);
  if (value->consumers().empty()) return false;
  for (const Node* reader : value->consumers()) {
    if (!ReadsInPlace(*reader, value)) return false;
  }
  Distances distances(facts);
  const int rank = facts.RankOf(value);
  if (!distances.AreAllThatCounts(value, {rank - 2, rank - 1})) return false;
  Value* queries = distances.QueriesOf(value);
  if (queries == nullptr) return false;
  Value* made =
      patch.Op("attnrun::RelativeToAbsolute", {distances.PerDistance(patch, value), queries});
  return patch.Substitute(node, made) && patch.CanApply();
}

}  // namespace

extern const Rule kRelativePositions = {
    .name = "relative_positions",
    .summary = "Values that depend on the distance of two positions are computed once per distance",
    .propose = ComputePerDistance};

}  // namespace attnrun::opt
