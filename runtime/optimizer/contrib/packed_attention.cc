#include "ops/contrib/packed_attention.h"

#include "optimizer/contrib/attention.h"

namespace attnrun {
namespace {

using enum PackedAttention::Input;

// Widths of q, k and v; empty if they are not known, or no columns of the weights.
std::vector<int64_t> Sizes(const Expansion& e) {
  const auto width = e.facts().Extent(e.input(kWeights), 1);
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

// Keys or values of the past, and then these.
Value* AfterPast(Expansion& e, int64_t half, Value* heads) {
  Value* past = e.Op("Gather", {e.input(kPast), e.Number(DataType::kInt64, half)});
  return e.Op("Concat", {past, heads}, {{"axis", int64_t{2}}});
}

// Keys and values by head, behind those of the past if there is one, and what is given for the next
// run.
void AddPast(Expansion& e, AttentionParts& parts) {
  PutByHead(e, parts);
  if (e.input(kPast) != nullptr) {
    parts.k = AfterPast(e, 0, parts.k);
    parts.v = AfterPast(e, 1, parts.v);
  }
  if (!e.IsRead(1)) return;
  e.Give(e.Op("Concat", {e.Unsqueeze(parts.k, {0}), e.Unsqueeze(parts.v, {0})},
              {{"axis", int64_t{0}}}),
         1);
}

}  // namespace

//   x  weights  bias  mask  past  scores_bias         x  weights  bias
//    \    \      |     |     /      /                     \ | /
//              Attention                  ->        Linear [B, S, 3 N H]
//               /     |                               |     |      |
//              y   present                            q    k, v    |    mask, scores_bias
//                                                      \  Concat with the past   /
//                                                       attnrun.Attention
bool ExpandPackedAttention(Expansion& e) {
  const std::vector<int64_t> sizes = Sizes(e);
  if (sizes.empty() || !IsFloatingPoint(e.TypeOf(e.input(kX))) ||
      e.facts().RankOf(e.input(kX)) != 3) {
    return e.Decline("the size of its heads is not known");
  }
  AttentionParts parts;
  parts.heads = parts.kv_heads = e.Attribute<int64_t>("num_heads", 0);
  parts.head_size = sizes[0] / parts.heads;
  parts.value_size = sizes[2] / parts.heads;
  Value* packed = e.Op("MatMul", {e.input(kX), e.input(kWeights)});
  if (e.input(kBias) != nullptr) packed = e.Op("Add", {packed, e.input(kBias)});
  const std::vector<Value*> qkv =
      e.Ops("Split", 3, {packed, e.Ints({sizes[0], sizes[1], sizes[2]})}, {{"axis", int64_t{-1}}});
  parts.q = qkv[0];
  parts.k = qkv[1];
  parts.v = qkv[2];
  const bool has_past = e.input(kPast) != nullptr;
  if (has_past || e.IsRead(1)) AddPast(e, parts);
  if (!AddScoreTerms(e, kMask, kScoresBias, parts)) return false;
  if (e.Attribute<int64_t>("unidirectional", 0) != 0) parts.causal = has_past ? 2 : 1;
  return e.Give(Attend(e, parts));
}

}  // namespace attnrun
