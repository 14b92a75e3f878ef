// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/contrib/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace attnrun::opt {
namespace {

std::string Layout(bool by_head, int64_t heads) {
  return by_head ? "b n s h" : absl::StrCat("b s (n:", heads, " h)");
}

// The keys that each sample may attend to, as bool [B, T]. `lengths` are the numbers of keys, [B],
// or the ends and then the beginnings of the keys, [2 B]; null if neither is known. `keys` is T.
Value* OpenByLengths(Expansion& e, Value* lengths, const SymInt& batch, Value* keys) {
  const std::vector<SymInt>* dims = e.Dims(lengths, 1);
  const bool has_beginnings = (*dims)[0] == batch * SymInt(2);
  if (!has_beginnings && (*dims)[0] != batch) return nullptr;
  Value* key = e.Unsqueeze(e.Range(keys), {0});
  std::vector<Value*> parts = {lengths};
  if (has_beginnings) {
    parts = e.Ops("Split", 2, {lengths}, {{"axis", int64_t{0}}, {"num_outputs", int64_t{2}}});
  }
  for (Value*& part : parts) {
    part = e.Unsqueeze(e.Cast(part, DataType::kInt64), {1});
  }
  Value* open = e.Op("Less", {key, parts[0]});
  return has_beginnings ? e.Op("And", {open, e.Op("GreaterOrEqual", {key, parts[1]})}) : open;
}

// The bias that the mask adds to the scores: mask_filter_value at masked keys, else 0. Null if the
// mask has none of the known forms. `keys` is T, of rank 0; `type` is that of the scores.
Value* MaskBias(Expansion& e, Value* mask, Value* keys, DataType type) {
  const int rank = e.facts().RankOf(mask);
  const std::vector<SymInt>* x = e.facts().DimsOf(e.input(0));
  Value* open = nullptr;
  if (rank == 2 || rank == 3) open = e.Op("Greater", {mask, e.Number(DataType::kInt32, 0)});
  if (rank == 1 && x != nullptr && !x->empty()) open = OpenByLengths(e, mask, (*x)[0], keys);
  if (open == nullptr) return nullptr;
  open = rank == 3 ? e.Unsqueeze(open, {1}) : e.Unsqueeze(open, {1, 2});
  const float filter = e.Attribute("mask_filter_value", -10000.0F);
  return e.Op("Where", {open, e.Number(type, 0), e.Number(type, filter)});
}

}  // namespace

Value* SplitHeads(Expansion& e, Value* merged, int64_t heads, int64_t size) {
  Value* split = e.Op("Reshape", {merged, e.Ints({0, 0, heads, size})});
  return e.Op("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

Value* Attend(Expansion& e, const AttentionParts& parts) {
  const double root = std::sqrt(static_cast<double>(parts.head_size));
  AttributeMap attributes;
  attributes["q_layout"] = Layout(false, parts.heads);
  attributes["k_layout"] = Layout(parts.keys_by_head, parts.kv_heads);
  attributes["v_layout"] = Layout(parts.keys_by_head, parts.kv_heads);
  attributes["scale"] = parts.scale.value_or(static_cast<float>(1 / root));
  attributes["masked_row"] = std::string("zero");
  if (parts.softcap != 0) attributes["softcap"] = parts.softcap;
  if (parts.causal != 0) attributes["causal"] = parts.causal;
  std::vector<Value*> inputs = {parts.q, parts.k, parts.v, parts.bias, parts.mask, parts.sinks};
  while (inputs.back() == nullptr) inputs.pop_back();
  return e.Op("attnrun::Attention", inputs, attributes);
}

void PutByHead(Expansion& e, AttentionParts& parts) {
  if (parts.keys_by_head) return;
  parts.k = SplitHeads(e, parts.k, parts.kv_heads, parts.head_size);
  parts.v = SplitHeads(e, parts.v, parts.kv_heads, parts.value_size);
  parts.keys_by_head = true;
}

bool AddScoreTerms(Expansion& e, int mask, int bias, AttentionParts& parts) {
  parts.scale = e.Scale();
  parts.bias = e.input(bias);
  if (e.input(mask) == nullptr) return true;
  Value* keys = e.ExtentOf(parts.k, parts.keys_by_head ? 2 : 1);
  const bool given = parts.type != DataType::kUndefined;
  const DataType type = given ? parts.type : e.TypeOf(e.input(0));
  Value* masked = MaskBias(e, e.input(mask), keys, type);
  if (masked == nullptr) return e.Decline("it is not known what its mask says");
  parts.bias = parts.bias == nullptr ? masked : e.Op("Add", {parts.bias, masked});
  return true;
}

}  // namespace attnrun::opt
