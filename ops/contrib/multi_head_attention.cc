// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/contrib/attention.h"

namespace attnrun::ops::contrib {
namespace {

// Writes the body of one node.
class MultiHead {
 public:
  enum Input {
    kQuery,
    kKey,
    kValue,
    kBias,
    kMask,
    kScoresBias,
    kPastKey,
    kPastValue,
    kPastLength,
    kCacheIndirection
  };

  MultiHead(Body& b, const MaskedAttention& attention)
      : b_(b), attention_(attention), heads_(attention.heads) {}

  void Write() {
    Value* query = b_.input(kQuery);
    b_.ExpectFloats({query, b_.input(kKey), b_.input(kValue), b_.input(kBias), b_.input(kPastKey),
                     b_.input(kPastValue), b_.input(kScoresBias)});
    if (b_.TypeOf(query) == DataType::kUndefined) b_.Fail("the type of its query is not known");
    FindOperands();
    const bool has_past = b_.input(kPastKey) != nullptr;
    if (has_past != (b_.input(kPastValue) != nullptr)) {
      b_.Fail("past_key and past_value must be given together");
    }
    if (b_.failed()) return;
    AttentionParts parts = {.q = parts_[0],
                            .k = parts_[1],
                            .v = parts_[2],
                            .heads = heads_,
                            .kv_heads = heads_,
                            .head_size = sizes_[1],
                            .value_size = sizes_[2],
                            .keys_by_head = by_head_,
                            .type = b_.TypeOf(query),
                            .scale = attention_.scale};
    if (attention_.causal) {
      CheckCausal();
      parts.causal = has_past ? 2 : 1;
    }
    if (has_past || b_.wants(1) || b_.wants(2)) AddPast(parts);
    AddScoreTerms(b_, b_.input(kScoresBias), b_.input(kMask), attention_.filter, parts);
    GiveAttention(b_, parts);
  }

 private:
  void FindOperands() {
    if (!FindRanks()) return;
    int source = kQuery;
    for (const int role : {0, 1, 2}) {
      if (b_.input(role) != nullptr) source = role;
      parts_[role] = Part(source, role);
      if (b_.failed()) return;
    }
    // Keys have the size of queries.
    if (sizes_[0] != sizes_[1] || sizes_[0] == 0) return Misfit();
    AddBias();
  }

  void Misfit() {
    b_.Fail(absl::StrCat("expected query, key and value of ", heads_, " heads, but query is ",
                         b_.Describe(b_.input(kQuery)), ", key is ", b_.Describe(b_.input(kKey)),
                         " and value is ", b_.Describe(b_.input(kValue))));
  }

  // Returns false if the inputs have none of the known combinations of ranks.
  bool FindRanks() {
    std::vector<int> ranks;
    for (const int role : {kQuery, kKey, kValue}) {
      ranks.push_back(b_.input(role) == nullptr ? 0 : b_.RankOf(b_.input(role)));
      if (ranks.back() < 0) b_.Fail("the size of its heads is not known");
    }
    by_head_ = ranks == std::vector<int>{3, 4, 4};
    const bool known = by_head_ || ranks == std::vector<int>{3, 3, 3} ||
                       ranks == std::vector<int>{3, 5, 0} || ranks == std::vector<int>{5, 0, 0};
    if (!known || !IsHeadCount(heads_)) Misfit();
    return !b_.failed();
  }

  // Operand `role` (0: Q, 1: K, 2: V) from input `source`, which holds it alone, K and V, or all
  // three.
  Value* Part(int source, int role) {
    Value* input = b_.input(source);
    const int rank = b_.RankOf(input);
    const auto width = b_.Extent(input, -1);
    if (!width.has_value()) {
      b_.Fail("the size of its heads is not known");
      return nullptr;
    }
    const SymInt any = SymInt::Unknown();
    const SymInt batch = b_.Dim(b_.input(kQuery), 0);
    if (rank == 3) b_.Expect("an operand", input, DataType::kUndefined, {batch, any, *width});
    if (rank == 4) b_.Expect("keys and values", input, {}, {batch, heads_, any, *width});
    if (rank == 5) b_.Expect("an operand", input, {}, {batch, any, heads_, 3 - source, *width});
    if ((rank == 3 && *width % heads_ != 0) || *width > INT64_MAX / heads_) Misfit();
    sizes_[role] = rank == 3 ? *width / heads_ : *width;
    if (rank != 5) return input;
    Value* rows = b_.Op("Gather", {input, b_.Number(DataType::kInt64, role - source)},
                        {{"axis", int64_t{3}}});
    return b_.Op("Reshape", {rows, b_.Ints({0, 0, heads_ * *width})});
  }

  void AddBias() {
    if (b_.input(kBias) == nullptr) return;
    const std::vector<int64_t> widths = {heads_ * sizes_[0], heads_ * sizes_[1],
                                         heads_ * sizes_[2]};
    b_.Expect("a bias", b_.input(kBias), DataType::kUndefined,
              {SymInt(widths[0]) + widths[1] + widths[2]});
    const std::vector<Value*> biases =
        b_.Ops("Split", 3, {b_.input(kBias), b_.Ints(widths)}, {{"axis", int64_t{0}}});
    for (const int role : {0, 1, 2}) {
      if (role == 0 || !by_head_) parts_[role] = b_.Op("Add", {parts_[role], biases[role]});
    }
  }

  // Fails unless there are as many queries as keys, those of the past not counted.
  void CheckCausal() {
    if (b_.input(kKey) == nullptr) return;
    const SymInt queries = b_.Dim(b_.input(kQuery), 1);
    const SymInt keys = b_.Dim(b_.input(kKey), by_head_ ? 2 : 1);
    if (queries == keys) return;
    const bool known = queries.constant().has_value() && keys.constant().has_value();
    b_.Fail(known ? absl::StrCat("unidirectional is supported only with as many queries as new "
                                 "keys, but there are ",
                                 queries.ToString(), " and ", keys.ToString())
                  : "there may be other queries than keys");
  }

  // Splits keys and values into heads, puts those of the past before them, if there is one, and
  // gives the present.
  void AddPast(AttentionParts& parts) {
    PutByHead(b_, parts);
    const std::pair<Value**, int64_t> roles[] = {{&parts.k, parts.head_size},
                                                 {&parts.v, parts.value_size}};
    for (const int role : {0, 1}) {
      const auto& [heads, size] = roles[role];
      Value* past = b_.input(kPastKey + role);
      b_.Expect("the past", past, DataType::kUndefined,
                {b_.Dim(parts.q, 0), heads_, b_.Dim(b_.input(kPastKey), 2), size});
      if (past != nullptr) *heads = b_.Op("Concat", {past, *heads}, {{"axis", int64_t{2}}});
      b_.Give(*heads, 1 + role);
    }
  }

  Body& b_;
  const MaskedAttention& attention_;
  const int64_t heads_;
  // Queries, keys and values, each [B, _, N * H]; keys and values may also be [B, N, L, H].
  Value* parts_[3] = {};
  int64_t sizes_[3] = {};
  bool by_head_ = false;
};

}  // namespace

// MultiHeadAttention-1 (query, key?, value?, bias?, key_padding_mask?, attention_bias?, past_key?,
// past_value?) -> (y [B, S, N * Hv], present_key?, present_value?), with N = `num_heads`. Queries,
// keys and values come as
//   query [B, S, N * H], key [B, L, N * H], value [B, L, N * Hv]
//   query, key [B, N, L, H], value [B, N, L, Hv]    without bias for key and value
//   query, key [B, L, N, 2, H]                      keys and values
//   query [B, S, N, 3, H]                           all three
// The parts of bias [N * (2 H + Hv)] are added to them. Keys and values follow those of the past
// [B, N, P, H]; there are T = P + L of them.
//   scores = scale * q k^T + attention_bias, plus `mask_filter_value` for masked keys
//   y = softmax(scores) v
// `unidirectional`, where L = S: query s sees keys up to P + s. For the mask see AddScoreTerms. Not
// covered: the past as a buffer (past_sequence_length, cache_indirection), and the fourth output.
//
//   query  key  value  bias  mask  past_k  past_v        query + bias   key + bias   value + bias
//     \     \     |     /     /     /       /                  |             |             |
//             MultiHeadAttention                 ->            |    Concat with past_k, with past_v
//              /      |       \                                 \            |             |
//             y   present_k  present_v                            attnrun.Attention(.., mask)
Composite::Writer MultiHeadAttention(AttributeReader& attributes) {
  const MaskedAttention attention(attributes);
  attributes.ExpectNoInput(MultiHead::kPastLength, "past_sequence_length");
  attributes.ExpectNoInput(MultiHead::kCacheIndirection, "cache_indirection");
  return [=](Body& b) { MultiHead(b, attention).Write(); };
}

}  // namespace attnrun::ops::contrib
