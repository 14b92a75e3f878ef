// SPDX-License-Identifier: Apache-2.0

// Models such as Qwen3 normalize each head of Q and K. Where the heads lie in one packed
// projection, one operator normalizes them there, so that the projection need not be taken apart:
//
//       Linear [B,S,W]                            Linear [B,S,W]
//          |                                         |
//        Split                                attnrun.HeadRmsNormalization
//      /   |   \                                 {head_offsets of Q and K}
//  Reshape Reshape ...                               |
//     |       |                        ->          Slice
//  RMSNorm  RMSNorm                              /   |   \  .
//     |       |                              Reshape Reshape ...
//    q [B,S,Nq,H]  k [B,S,Nkv,H]                |       |
//                                              q       k

#include <map>
#include <tuple>

#include "core/elements.h"
#include "core/status.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/heads/packed_rewrite.h"

namespace attnrun::opt {
namespace {

// Identifies norms that may differ in their scales alone: the packed value, epsilon, and the size
// of heads.
using Key = std::tuple<Value*, float, int64_t>;

// True if the node is an RMSNormalization over the last axis with a constant scale.
bool IsHeadNorm(const Node& node, Facts& facts) {
  if (!IsOp(&node, "RMSNormalization")) return false;
  const int rank = facts.RankOf(node.input(0));
  if (rank != 3 && rank != 4) return false;
  const int64_t axis = AttributeOr<int64_t>(node, "axis", -1);
  const Value* scale = node.input(1);
  const bool is_row = scale->is_constant() && scale->constant()->rank() == 1;
  if ((axis != -1 && axis != rank - 1) || !is_row) return false;
  return scale->constant()->type() == facts.TypeOf(node.input(0)) &&
         AttributeOr<int64_t>(node, "stash_type", 1) == 1;
}

// The scale of each head, [heads, H], in the order of the columns.
absl::StatusOr<Tensor> Scales(const PackedRewrite& rewrite) {
  std::map<int64_t, const Tensor*> by_offset;
  for (size_t i = 0; i < rewrite.nodes().size(); ++i) {
    const Tensor* scale = rewrite.nodes()[i]->input(1)->constant();
    for (const int64_t offset : rewrite.heads()[i].offsets) by_offset[offset] = scale;
  }
  std::vector<double> rows;
  for (const auto& [offset, scale] : by_offset) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> row, ToDoubles(*scale));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const auto count = static_cast<int64_t>(by_offset.size());
  return FromDoubles(by_offset.begin()->second->type(), {count, rewrite.heads()[0].head_size},
                     rows);
}

absl::StatusOr<int> Pack(RuleContext& context, const Key& key, PackedRewrite& rewrite) {
  const auto& [base, epsilon, head_size] = key;
  if (!rewrite.IsAlone({})) return 0;
  Patch patch(context);
  Value* scales = patch.Constant(rewrite.nodes()[0]->input(1)->name(), Scales(rewrite));
  AttributeMap attributes = {
      {"head_size", head_size}, {"head_offsets", rewrite.Offsets()}, {"epsilon", epsilon}};
  Value* packed = patch.Op("attnrun::HeadRmsNormalization", {base, scales}, std::move(attributes),
                           rewrite.nodes()[0]->name());
  return rewrite.Apply(patch, packed);
}

std::optional<std::pair<Key, PackedHeads>> Find(Node* node, Facts& facts) {
  if (node->output(0) == nullptr || !IsHeadNorm(*node, facts)) return std::nullopt;
  auto heads = FindPackedHeads(node->input(0), 1, facts);
  if (!heads.has_value() || node->input(1)->constant()->dim(0) != heads->head_size) {
    return std::nullopt;
  }
  // A norm over whole rows is left as an ordinary one.
  if (heads->width == heads->head_size) return std::nullopt;
  const Key key = {heads->base, AttributeOr(*node, "epsilon", 1e-5F), heads->head_size};
  return std::pair(key, *std::move(heads));
}

absl::StatusOr<int> PackHeadNormalizations(RuleContext& context) {
  return PackGroups<Key>(
      context, [&](Node* node) { return Find(node, context.facts); },
      [&](const Key& key, PackedRewrite& rewrite) { return Pack(context, key, rewrite); });
}

}  // namespace

extern const Rule kHeadNormalization = {
    .name = "head_normalization",
    .summary = "Q and K are normalized where they lie in the packed projection",
    .run = PackHeadNormalizations};

}  // namespace attnrun::opt
