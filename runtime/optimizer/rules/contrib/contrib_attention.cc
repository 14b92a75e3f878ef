// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib_attention.h"

#include "ops/contrib/quantized_layers.h"
#include "optimizer/rules/contrib/attention.h"

namespace attnrun::opt {
namespace {

using enum ops::ContribAttention::Input;

// The indices of an attention operator's inputs beside its projection.
struct Places {
  int x;
  int weights;
  int mask;
  int past;
  // -1 if the operator has no such input.
  int scores_bias;
  // The element type of the scores.
  DataType type;
};

// The widths of q, k and v; empty if they are not known or do not add up to the weights' columns.
std::vector<int64_t> Sizes(const Expansion& e, int weights) {
  const auto width = e.facts().Extent(e.input(weights), 1);
  auto sizes = e.Attribute<std::vector<int64_t>>("qkv_hidden_sizes", {});
  if (sizes.empty() && width.has_value()) sizes.assign(3, *width / 3);
  const auto heads = e.Attribute<int64_t>("num_heads", 0);
  if (sizes.size() != 3 || heads <= 0 || sizes[0] != sizes[1] || sizes[0] < heads) return {};
  for (const int64_t size : sizes) {
    if (size <= 0 || size % heads != 0 || size > width.value_or(size)) return {};
  }
  if (width.has_value() && *width - sizes[0] - sizes[1] != sizes[2]) return {};
  return sizes;
}

// The keys (`half` 0) or values (1) of the past, followed by the given ones.
Value* AfterPast(Expansion& e, Value* both, int64_t half, Value* heads) {
  Value* past = e.Op("Gather", {both, e.Number(DataType::kInt64, half)});
  return e.Op("Concat", {past, heads}, {{"axis", int64_t{2}}});
}

// Splits keys and values into heads, puts those of the past before them if there is one, and writes
// the present for the next run.
void AddPast(Expansion& e, Value* past, AttentionParts& parts) {
  PutByHead(e, parts);
  if (past != nullptr) {
    parts.k = AfterPast(e, past, 0, parts.k);
    parts.v = AfterPast(e, past, 1, parts.v);
  }
  if (!e.IsRead(1)) return;
  e.Give(e.Op("Concat", {e.Unsqueeze(parts.k, {0}), e.Unsqueeze(parts.v, {0})},
              {{"axis", int64_t{0}}}),
         1);
}

// Writes the node's attention over a projection [B, S, Dq + Dk + Dv].
bool AttendPacked(Expansion& e, const Places& places, Value* packed) {
  const std::vector<int64_t> sizes = Sizes(e, places.weights);
  AttentionParts parts;
  parts.type = places.type;
  parts.heads = parts.kv_heads = e.Attribute<int64_t>("num_heads", 0);
  parts.head_size = sizes[0] / parts.heads;
  parts.value_size = sizes[2] / parts.heads;
  const std::vector<Value*> qkv =
      e.Ops("Split", 3, {packed, e.Ints(sizes)}, {{"axis", int64_t{-1}}});
  parts.q = qkv[0];
  parts.k = qkv[1];
  parts.v = qkv[2];
  Value* past = e.input(places.past);
  if (past != nullptr || e.IsRead(1)) AddPast(e, past, parts);
  if (!AddScoreTerms(e, places.mask, places.scores_bias, parts)) return false;
  if (e.Attribute<int64_t>("unidirectional", 0) != 0) parts.causal = past != nullptr ? 2 : 1;
  return e.Give(Attend(e, parts));
}

// True if the widths of Q, K and V are known and x is [B, S, D].
bool HasKnownHeads(Expansion& e, const Places& places) {
  return !Sizes(e, places.weights).empty() && e.facts().RankOf(e.input(places.x)) == 3;
}

constexpr char kUnknownHeads[] = "the size of its heads is not known";

}  // namespace

//   x  weights  bias  mask  past  scores_bias         x  weights  bias
//    \    \      |     |     /      /                     \ | /
//              Attention                  ->        Linear [B, S, 3 N H]
//               /     |                               |     |      |
//              y   present                            q    k, v    |    mask, scores_bias
//                                                      \  Concat with the past   /
//                                                       attnrun.Attention
bool ExpandContribAttention(Expansion& e) {
  const Places places = {kX, kWeights, kMask, kPast, kScoresBias, e.TypeOf(e.input(kX))};
  if (!HasKnownHeads(e, places) || !IsFloatingPoint(places.type)) {
    return e.Decline(kUnknownHeads);
  }
  Value* packed = e.Op("MatMul", {e.input(kX), e.input(kWeights)});
  if (e.input(kBias) != nullptr) packed = e.Op("Add", {packed, e.input(kBias)});
  return AttendPacked(e, places, packed);
}

// The same with a projection computed in integers.
bool ExpandQAttention(Expansion& e) {
  using Q = ops::QAttention;
  const Places places = {Q::kX, Q::kWeights, Q::kMask, Q::kPast, -1, e.TypeOf(e.input(Q::kBias))};
  if (!HasKnownHeads(e, places) || !IsFloatingPoint(places.type)) {
    return e.Decline(kUnknownHeads);
  }
  Value* packed = IntegerProduct(
      e, {e.input(Q::kX), e.input(Q::kXScale), e.input(Q::kXZeroPoint)},
      {e.input(Q::kWeights), e.input(Q::kWeightScale), e.input(Q::kWeightZeroPoint)});
  if (packed == nullptr) return false;
  packed = e.Op("Add", {packed, e.Cast(e.input(Q::kBias), DataType::kFloat)});
  return AttendPacked(e, places, e.Cast(packed, places.type));
}

}  // namespace attnrun::opt
