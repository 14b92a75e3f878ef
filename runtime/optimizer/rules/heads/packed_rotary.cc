// SPDX-License-Identifier: Apache-2.0

// Exporters split a projection into heads before they rotate Q and K. One operator rotates all
// heads in the packed rows, so that nothing is moved between the projection and the attention:
//
//        Linear [B,S,(Nq+2*Nkv)*H]                   Linear [B,S,(Nq+2*Nkv)*H]
//          |                                            |
//        Split                                   attnrun.RotaryEmbedding
//      /   |   \                                    {head_offsets of Q and K}
//  Reshape Reshape \                                    |
//     |    |        |                                 Slice
//  Transpose Transpose|                       ->    /   |   \  .
//     |    |        |                         Reshape Reshape \  .
//  Rotary Rotary    |                            |      |      |
//    \     |       /                        Transpose Transpose|
//      Attention                                  \     |     /
//                                                  Attention
//
// The views behind the operator then become a part of the attention's layouts. Queries and keys
// from separate projections are rotated each in their own.

#include <map>
#include <tuple>

#include "core/status.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/heads/packed_rewrite.h"

namespace attnrun::opt {
namespace {

// Identifies rotations by the same angles of heads in one value.
using Key = std::tuple<Value*, std::vector<Value*>, int64_t, int64_t, int64_t>;

std::vector<Value*> Angles(const Node& node) {
  return {node.inputs().begin() + 1, node.inputs().end()};
}

Key KeyOf(const Node& node, const PackedHeads& heads) {
  const int64_t rotated = AttributeOr<int64_t>(node, "rotary_embedding_dim", 0);
  return {heads.base, Angles(node), AttributeOr<int64_t>(node, "interleaved", 0),
          rotated == 0 ? heads.head_size : rotated, heads.head_size};
}

absl::StatusOr<int> Pack(RuleContext& context, const Key& key, PackedRewrite& rewrite) {
  const auto& [base, angles, interleaved, rotated, head_size] = key;
  if (!rewrite.IsAlone(angles)) return 0;
  Patch patch(context);
  std::vector<Value*> inputs = {base};
  inputs.insert(inputs.end(), angles.begin(), angles.end());
  AttributeMap attributes = {{"head_size", head_size},
                             {"head_offsets", rewrite.Offsets()},
                             {"interleaved", interleaved},
                             {"rotary_embedding_dim", rotated}};
  Value* packed = patch.Op("attnrun::RotaryEmbedding", inputs, std::move(attributes),
                           rewrite.nodes()[0]->name());
  return rewrite.Apply(patch, packed);
}

std::optional<std::pair<Key, PackedHeads>> Find(Node* node, Facts& facts) {
  if (!IsOp(node, "RotaryEmbedding")) return std::nullopt;
  auto heads = FindPackedHeads(node->input(0), AttributeOr<int64_t>(*node, "num_heads", 0), facts);
  if (!heads.has_value()) return std::nullopt;
  Key key = KeyOf(*node, *heads);
  return std::pair(std::move(key), *std::move(heads));
}

absl::StatusOr<int> PackRotaryEmbeddings(RuleContext& context) {
  return PackGroups<Key>(
      context, [&](Node* node) { return Find(node, context.facts); },
      [&](const Key& key, PackedRewrite& rewrite) { return Pack(context, key, rewrite); });
}

}  // namespace

extern const Rule kPackedRotary = {
    .name = "packed_rotary",
    .summary = "Q and K are rotated where they lie in the packed projection",
    .run = PackRotaryEmbeddings};

}  // namespace attnrun::opt
