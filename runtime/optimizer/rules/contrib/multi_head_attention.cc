// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/multi_head_attention.h"

#include <cstdint>

#include "ops/contrib/head_count.h"
#include "optimizer/rules/contrib/attention.h"

namespace attnrun::opt {
namespace {

using enum ops::MultiHeadAttention::Input;

// Queries, keys and values, each [B, _, N * H]; keys and values may also be given as [B, N, L, H].
class Operands {
 public:
  explicit Operands(Expansion& e) : e_(e), heads_(e.Attribute<int64_t>("num_heads", 0)) {}

  // Finds the operands; returns false, with the reason in `why`, if sizes are not known.
  bool Find() {
    if (!FindRanks()) return false;
    Value* source = nullptr;
    for (const int role : {0, 1, 2}) {
      if (e_.input(role) != nullptr) source = e_.input(role);
      parts_[role] = Part(source, role);
      if (parts_[role] == nullptr) return false;
    }
    return AddBias();
  }

  // True if there are as many queries as keys, those of the past not counted.
  bool AsManyQueriesAsKeys() const {
    const Value* key = e_.input(kKey);
    if (key == nullptr) return true;
    const std::vector<SymInt>& q = *e_.facts().DimsOf(e_.input(kQuery));
    return q[1] == (*e_.facts().DimsOf(key))[by_head_ ? 2 : 1];
  }

  Value* part(int role) const { return parts_[role]; }
  int64_t size(int role) const { return sizes_[role]; }
  bool by_head() const { return by_head_; }

 private:
  // True if the inputs have one of the known combinations of ranks.
  bool FindRanks() {
    const auto rank = [&](int i) {
      return e_.input(i) == nullptr ? 0 : e_.facts().RankOf(e_.input(i));
    };
    const std::vector<int> ranks = {rank(kQuery), rank(kKey), rank(kValue)};
    by_head_ = ranks == std::vector<int>{3, 4, 4};
    return by_head_ || ranks == std::vector<int>{3, 3, 3} || ranks == std::vector<int>{3, 5, 0} ||
           ranks == std::vector<int>{5, 0, 0};
  }

  // Operand `role` (0: Q, 1: K, 2: V) from an input that holds it alone, K and V, or all three.
  Value* Part(Value* source, int role) {
    const int rank = e_.facts().RankOf(source);
    const auto width = e_.facts().Extent(source, -1);
    if (!width.has_value() || !ops::IsHeadCount(heads_) || *width > INT64_MAX / heads_)
      return nullptr;
    sizes_[role] = rank == 3 ? *width / heads_ : *width;
    if (rank != 5) return source;
    const int first = source == e_.input(kQuery) ? 0 : 1;
    Value* rows = e_.Op("Gather", {source, e_.Number(DataType::kInt64, role - first)},
                        {{"axis", int64_t{3}}});
    return e_.Op("Reshape", {rows, e_.Ints({0, 0, heads_ * *width})});
  }

  bool AddBias() {
    if (e_.input(kBias) == nullptr) return true;
    const std::vector<Value*> biases = e_.Ops(
        "Split", 3,
        {e_.input(kBias), e_.Ints({heads_ * sizes_[0], heads_ * sizes_[1], heads_ * sizes_[2]})},
        {{"axis", int64_t{0}}});
    for (const int role : {0, 1, 2}) {
      if (role == 0 || !by_head_) parts_[role] = e_.Op("Add", {parts_[role], biases[role]});
    }
    return true;
  }

  Expansion& e_;
  const int64_t heads_;
  Value* parts_[3] = {};
  int64_t sizes_[3] = {};
  bool by_head_ = false;
};

// Splits keys and values into heads and puts those of the past before them, if there is one.
void AddPast(Expansion& e, AttentionParts& parts) {
  PutByHead(e, parts);
  if (e.input(kPastKey) != nullptr) {
    parts.k = e.Op("Concat", {e.input(kPastKey), parts.k}, {{"axis", int64_t{2}}});
    parts.v = e.Op("Concat", {e.input(kPastValue), parts.v}, {{"axis", int64_t{2}}});
  }
  if (e.IsRead(1)) e.Give(parts.k, 1);
  if (e.IsRead(2)) e.Give(parts.v, 2);
}

}  // namespace

//   query  key  value  bias  mask  past_k  past_v        query + bias   key + bias   value + bias
//     \     \     |     /     /     /       /                  |             |             |
//             MultiHeadAttention                 ->            |    Concat with past_k, with past_v
//              /      |       \                                 \            |             |
//             y   present_k  present_v                            attnrun.Attention(.., mask)
bool ExpandMultiHeadAttention(Expansion& e) {
  Operands operands(e);
  if (!IsFloatingPoint(e.TypeOf(e.input(kQuery))) || !operands.Find()) {
    return e.Decline("the size of its heads is not known");
  }
  const bool has_past = e.input(kPastKey) != nullptr;
  if (has_past != (e.input(kPastValue) != nullptr)) return e.Decline("it has half of a past");
  AttentionParts parts;
  parts.heads = parts.kv_heads = e.Attribute<int64_t>("num_heads", 0);
  parts.q = operands.part(0);
  parts.k = operands.part(1);
  parts.v = operands.part(2);
  parts.head_size = operands.size(1);
  parts.value_size = operands.size(2);
  parts.keys_by_head = operands.by_head();
  if (has_past || e.IsRead(1) || e.IsRead(2)) AddPast(e, parts);
  if (!AddScoreTerms(e, kMask, kScoresBias, parts)) return false;
  if (e.Attribute<int64_t>("unidirectional", 0) != 0) {
    if (!operands.AsManyQueriesAsKeys()) return e.Decline("there may be other queries than keys");
    parts.causal = has_past ? 2 : 1;
  }
  return e.Give(Attend(e, parts));
}

}  // namespace attnrun::opt
