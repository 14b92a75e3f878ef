// SPDX-License-Identifier: Apache-2.0

// Models rotate pairs of channels by angles that depend on the position. Exporters write out this
// rotary position embedding; it becomes one operator:
//
//         x -------------------.                 x   cos, sin [B,S,R/2]
//       /   \                   |                 \   /
//   Slice   Slice, Neg         Mul cos   ->   RotaryEmbedding
//       \   /                   |                   |
//    Concat(-x2, x1), Mul sin, Add -> y             y
//
// The rule proves that cos and sin hold each angle twice. It also covers x1 and x2 as the even and
// odd channels, and Concat(x1 cos - x2 sin, x2 cos + x1 sin) with each angle once. A rotation of
// the first R channels alone takes the remaining channels in:
//
//   Concat(RotaryEmbedding(x[..., :R]), x[..., R:])   becomes   RotaryEmbedding(x) of R channels

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/rotary/rotary_match.h"

namespace attnrun::opt {
namespace {

bool FuseRotaryEmbedding(RuleContext& context, Node* node, Patch& patch) {
  const auto match = FindRotation(node, context.facts);
  if (!match.has_value()) return false;
  const Rotation& rotation = match->rotation;
  for (Value* table : {rotation.cos, rotation.sin}) {
    if (rotation.one_per_pair || RepeatsAngles(table, rotation.layout, context.facts)) continue;
    context.Miss(*node,
                 absl::StrCat(Quoted(table->name()), " is not known to hold each angle twice"));
    return false;
  }
  patch.Supersede(match->nodes);
  std::string why;
  Value* rotated = EmitRotaryEmbedding(patch, context.facts, rotation, node->name(), why);
  if (rotated == nullptr) {
    if (!why.empty()) context.Miss(*node, why);
    return false;
  }
  return patch.Replace(node->output(0), rotated);
}

// Concat(RotaryEmbedding(x[..., :R]), x[..., R:]).
bool FusePartialRotary(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  const Node* concat = PairConcat(node->output(0), facts);
  Node* rotation = concat == nullptr ? nullptr : concat->input(0)->producer();
  if (!IsOp(rotation, "RotaryEmbedding") || facts.RankOf(rotation->input(0)) != 4) return false;
  const auto rotated = facts.Extent(rotation->input(0), -1);
  const auto rest = facts.Extent(concat->input(1), -1);
  if (!rotated.has_value() || !rest.has_value()) return false;
  for (const Traced& traced : Trace(rotation->input(0), facts)) {
    Value* x = traced.base;
    if (facts.RankOf(x) != 4 || facts.Extent(x, -1) != *rotated + *rest) continue;
    if (!IsSliceOf(rotation->input(0), x, 0, *rotated, 1, facts)) continue;
    if (!IsSliceOf(concat->input(1), x, *rotated, *rest, 1, facts)) continue;
    patch.Supersede({node, rotation});
    std::vector<Value*> inputs = rotation->inputs();
    inputs[0] = x;
    AttributeMap attributes = rotation->attributes();
    const AttributeValue* width = rotation->attribute("rotary_embedding_dim");
    if (width == nullptr || std::get<int64_t>(*width) == 0) {
      attributes["rotary_embedding_dim"] = *rotated;
    }
    return patch.Replace(node->output(0),
                         patch.Op("RotaryEmbedding", inputs, attributes, node->name()));
  }
  return false;
}

}  // namespace

extern const Rule kRotaryEmbedding = {
    .name = "rotary_embedding",
    .summary = "A rotation of halves or pairs of channels becomes RotaryEmbedding",
    .anchors = {"Add", "Concat", "Reshape"},
    .propose = FuseRotaryEmbedding};

extern const Rule kPartialRotary = {
    .name = "rotary_embedding",
    .summary =
        "RotaryEmbedding of the first channels also takes the channels that stay as they are",
    .anchors = {"Concat"},
    .propose = FusePartialRotary};

}  // namespace attnrun::opt
