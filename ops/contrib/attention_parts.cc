// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/contrib/attention.h"

namespace attnrun::ops::contrib {
namespace {

std::string Layout(bool by_head, int64_t heads) {
  return by_head ? "b n s h" : absl::StrCat("b s (n:", heads, " h)");
}

// Splits rows [B, S, n * H] into heads [B, n, S, H].
Value* SplitHeads(Body& b, Value* merged, int64_t heads, int64_t size) {
  Value* split = b.Op("Reshape", {merged, b.Ints({0, 0, heads, size})});
  return b.Op("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

// The keys that each sample may attend to, as bool [B, T], from their ends, [B], or their ends and
// then their beginnings, [2 B].
Value* UnmaskedByEnds(Body& b, Value* ends, Value* keys) {
  const SymInt count = b.Dim(ends, 0);
  const SymInt batch = b.Dim(b.input(0), 0);
  const bool has_beginnings = count == batch * SymInt(2);
  if (!has_beginnings && count != batch) {
    const bool known = count.constant().has_value() && batch.constant().has_value();
    b.Fail(known ? absl::StrCat("expected a mask int32[", batch.ToString(), "] or [2*",
                                batch.ToString(), "], but it is ", b.Describe(ends))
                 : "it is not known what its mask says");
  }
  Value* key = b.Unsqueeze(b.Range(keys), {0});
  std::vector<Value*> parts = {ends};
  if (has_beginnings) {
    parts = b.Ops("Split", 2, {ends}, {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}});
  }
  for (Value*& part : parts) part = b.Unsqueeze(b.Cast(part, DataType::kInt64), {1});
  Value* unmasked = b.Op("Less", {key, parts[0]});
  if (!has_beginnings) return unmasked;
  return b.Op("And", {unmasked, b.Op("GreaterOrEqual", {key, parts[1]})});
}

// The bias that the mask adds to the scores: `filter` at masked keys, else 0.
Value* MaskBias(Body& b, Value* mask, float filter, const AttentionParts& parts) {
  const int rank = b.RankOf(mask);
  const int axis_of_keys = parts.keys_by_head ? 2 : 1;
  const SymInt batch = b.Dim(b.input(0), 0);
  const SymInt keys = b.Dim(parts.k, axis_of_keys);
  if (rank < 0) b.Fail("it is not known what its mask says");
  Value* unmasked = nullptr;
  if (rank == 1) {
    b.Expect("a mask", mask, DataType::kInt32, {b.Dim(mask, 0)});
    unmasked = UnmaskedByEnds(b, mask, b.ExtentOf(parts.k, axis_of_keys));
  } else {
    if (rank == 3) b.Expect("a mask", mask, DataType::kInt32, {batch, b.Dim(parts.q, 1), keys});
    if (rank != 3) b.Expect("a mask", mask, DataType::kInt32, {batch, keys});
    unmasked = b.Op("Greater", {mask, b.Number(DataType::kInt32, 0)});
  }
  unmasked = rank == 3 ? b.Unsqueeze(unmasked, {1}) : b.Unsqueeze(unmasked, {1, 2});
  return b.Op("Where", {unmasked, b.Number(parts.type, 0), b.Number(parts.type, filter)});
}

}  // namespace

void PutByHead(Body& b, AttentionParts& parts) {
  if (parts.keys_by_head) return;
  parts.k = SplitHeads(b, parts.k, parts.kv_heads, parts.head_size);
  parts.v = SplitHeads(b, parts.v, parts.kv_heads, parts.value_size);
  parts.keys_by_head = true;
}

void AddScoreTerms(Body& b, Value* bias, Value* mask, float filter, AttentionParts& parts) {
  parts.bias = bias;
  if (mask == nullptr) return;
  Value* masked = MaskBias(b, mask, filter, parts);
  parts.bias = bias == nullptr ? masked : b.Op("Add", {bias, masked});
}

Value* Attend(Body& b, const AttentionParts& parts) {
  const double root = std::sqrt(static_cast<double>(parts.head_size));
  AttributeMap attributes;
  attributes["q_layout"] = Layout(false, parts.heads);
  attributes["k_layout"] = Layout(parts.keys_by_head, parts.kv_heads);
  attributes["v_layout"] = Layout(parts.keys_by_head, parts.kv_heads);
  attributes["scale"] = parts.scale.value_or(static_cast<float>(1 / root));
  attributes["masked_row"] = std::string("zero");
  if (parts.softcap != 0) attributes["softcap"] = parts.softcap;
  if (parts.causal != 0) attributes["causal"] = parts.causal;
  if (!parts.scaled_rows) attributes["scaled_rows"] = int64_t{0};
  return b.Op("attnrun::Attention",
              {parts.q, parts.k, parts.v, parts.bias, parts.mask, parts.sinks}, attributes);
}

void GiveAttention(Body& b, const AttentionParts& parts) { b.Give(Attend(b, parts)); }

}  // namespace attnrun::ops::contrib
