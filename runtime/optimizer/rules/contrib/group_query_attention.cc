// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/group_query_attention.h"

#include <cstdint>

#include "ops/contrib/head_count.h"
#include "optimizer/rules/contrib/attention.h"

namespace attnrun::opt {
namespace {

using enum ops::GroupQueryAttention::Input;

class GroupQuery {
 public:
  explicit GroupQuery(Expansion& e) : e_(e) {
    parts_.heads = e.Attribute<int64_t>("num_heads", 0);
    parts_.kv_heads = e.Attribute<int64_t>("kv_num_heads", 0);
  }

  bool Propose() {
    if (!FindOperands()) return e_.Decline("the size of its heads is not known");
    if (e_.input(kLengths) == nullptr || e_.input(kTotal) == nullptr) {
      return e_.Decline("it is not told how many tokens there are");
    }
    if ((e_.input(kPastKey) == nullptr) != (e_.input(kPastValue) == nullptr)) {
      return e_.Decline("it has half of a past");
    }
    if (e_.input(kScoresBias) != nullptr && e_.facts().RankOf(e_.input(kScoresBias)) != 4) {
      return e_.Decline("its bias is not known to have 4 axes");
    }
    sliding_ = e_.Attribute<int64_t>("sliding_window_cache", 0) != 0;
    if (sliding_ && (e_.input(kPastKey) == nullptr || e_.input(kScoresBias) != nullptr)) {
      return e_.Decline("its cache slides, but it has no past, or a bias");
    }
    FindPositions();
    if (sliding_) FindResidents();
    Normalize(kQueryNorm, parts_.heads, parts_.q);
    Normalize(kKeyNorm, parts_.kv_heads, parts_.k);
    if (e_.Attribute<int64_t>("do_rotary", 0) != 0 && !Rotate()) {
      return e_.Decline("its angles are not known");
    }
    AddPast();
    parts_.mask = Mask();
    AddTerms();
    return e_.Give(Attend(e_, parts_));
  }

 private:
  bool FindOperands() {
    const bool known =
        IsFloatingPoint(e_.TypeOf(e_.input(kQuery))) && e_.facts().RankOf(e_.input(kQuery)) == 3;
    const auto width = e_.facts().Extent(e_.input(kQuery), -1);
    const bool packed = e_.input(kKey) == nullptr;
    const bool counted = ops::IsHeadCount(parts_.heads) && ops::IsHeadCount(parts_.kv_heads);
    if (!known || !counted || width.value_or(0) <= 0) return false;
    const int64_t count = parts_.heads + (packed ? 2 * parts_.kv_heads : 0);
    if (*width % count != 0 || packed != (e_.input(kValue) == nullptr)) return false;
    const int64_t size = *width / count;
    parts_.head_size = parts_.value_size = size;
    std::vector<Value*> qkv = {e_.input(kQuery), e_.input(kKey), e_.input(kValue)};
    if (packed) {
      const int64_t keys = parts_.kv_heads * size;
      qkv = e_.Ops("Split", 3, {e_.input(kQuery), e_.Ints({parts_.heads * size, keys, keys})},
                   {{"axis", int64_t{-1}}});
    }
    parts_.q = qkv[0];
    parts_.k = qkv[1];
    parts_.v = qkv[2];
    return true;
  }

  // Computes first_ = max(seqlens_k + 1 - S, 0), [B], and positions_, those of the given tokens,
  // [B, S].
  void FindPositions() {
    last_ = e_.Op("Reshape", {e_.Cast(e_.input(kLengths), DataType::kInt64), e_.Ints({-1})});
    Value* given = e_.ExtentOf(e_.input(kQuery), 1);
    Value* before = e_.Op("Sub", {e_.Op("Add", {last_, Integer(1)}), given});
    first_ = e_.Op("Max", {before, Integer(0)});
    positions_ = e_.Op("Add", {e_.Unsqueeze(first_, {1}), e_.Unsqueeze(e_.Range(given), {0})});
  }

  // The number of `length` tokens that a sliding cache keeps: T - G * ceil(max(T - C, 0) / G),
  // where T is `length`, C the capacity, W the window and G = C - W + 1.
  Value* Resident(Value* length, Value* capacity) {
    Value* evicted = e_.Op("Sub", {capacity, Integer(Window() - 1)});
    evicted = e_.Op("Max", {evicted, Integer(1)});
    Value* more = e_.Op("Max", {e_.Op("Sub", {length, capacity}), Integer(0)});
    Value* up = e_.Op("Sub", {e_.Op("Add", {more, evicted}), Integer(1)});
    return e_.Op("Sub", {length, e_.Op("Mul", {e_.Op("Div", {up, evicted}), evicted})});
  }

  // Computes the counts of a sliding cache.
  void FindResidents() {
    Value* capacity = e_.ExtentOf(e_.input(kPastKey), 2);
    kept_ = Resident(first_, capacity);
    base_ = e_.Op("Sub", {first_, kept_});
    Value* length = e_.Op("Add", {last_, Integer(1)});
    dropped_ = e_.Op("Sub", {e_.Op("Sub", {length, Resident(length, capacity)}), base_});
    capacity_ = capacity;
    keys_ = e_.Op("Add", {capacity, e_.ExtentOf(e_.input(kQuery), 1)});
  }

  // Positions are int32, so a window beyond that masks no key; neither does a negative one.
  int64_t Window() const {
    const auto window = e_.Attribute<int64_t>("local_window_size", -1);
    return window < 0 || window > int64_t{1} << 31 ? -1 : window;
  }

  void Normalize(int weights, int64_t heads, Value*& x) {
    if (e_.input(weights) == nullptr) return;
    Value* split = e_.Op("Reshape", {x, e_.Ints({0, 0, heads, parts_.head_size})});
    Value* norm = e_.Op("RMSNormalization", {split, e_.input(weights)},
                        {{"epsilon", e_.Attribute("qk_norm_epsilon", 1e-6F)}});
    x = e_.Op("Reshape", {norm, e_.Ints({0, 0, heads * parts_.head_size})});
  }

  bool Rotate() {
    if (e_.input(kCos) == nullptr || e_.input(kSin) == nullptr) return false;
    const auto pairs = e_.facts().Extent(e_.input(kCos), 1);
    if (!pairs.has_value() || *pairs > INT64_MAX / 2) return false;
    AttributeMap attributes = {{"interleaved", e_.Attribute<int64_t>("rotary_interleaved", 0)},
                               {"rotary_embedding_dim", 2 * *pairs}};
    attributes["num_heads"] = parts_.heads;
    parts_.q = e_.Op("RotaryEmbedding", {parts_.q, e_.input(kCos), e_.input(kSin), positions_},
                     attributes);
    attributes["num_heads"] = parts_.kv_heads;
    parts_.k = e_.Op("RotaryEmbedding", {parts_.k, e_.input(kCos), e_.input(kSin), positions_},
                     attributes);
    return true;
  }

  void AddPast() {
    PutByHead(e_, parts_);
    for (const int role : {0, 1}) {
      Value* past = e_.input(kPastKey + role);
      Value*& heads = role == 0 ? parts_.k : parts_.v;
      Value* const given = heads;
      if (past != nullptr) {
        heads = e_.Op("attnrun::AppendToCache", {past, given, sliding_ ? kept_ : first_,
                                                 sliding_ ? keys_ : e_.input(kTotal)});
      }
      if (!e_.IsRead(1 + role)) continue;
      e_.Give(sliding_ ? e_.Op("attnrun::AppendToCache", {past, given, kept_, capacity_, dropped_})
                       : heads,
              1 + role);
    }
  }

  // bool [B, 1, S, T]: true at keys that the sample has, up to the query's position and in the
  // window.
  Value* Mask() {
    Value* key = e_.Unsqueeze(e_.Range(Keys()), {0, 1, 2});
    Value* limit = e_.Unsqueeze(last_, {1});
    if (e_.Attribute<int64_t>("causal", 1) != 0) limit = e_.Op("Min", {positions_, limit});
    Value* open = e_.Op("LessOrEqual", {key, ByQuery(limit)});
    if (Window() < 0) return open;
    Value* closed = e_.Op("Sub", {positions_, Integer(Window())});
    return e_.Op("And", {open, e_.Op("Greater", {key, ByQuery(closed)})});
  }

  Value* Keys() {
    if (sliding_) return keys_;
    Value* keys = e_.Op("Squeeze", {e_.Cast(e_.input(kTotal), DataType::kInt64)});
    if (e_.input(kPastKey) == nullptr) return keys;
    return e_.Op("Max", {keys, e_.ExtentOf(e_.input(kPastKey), 2)});
  }

  void AddTerms() {
    parts_.scale = e_.Scale();
    if (parts_.scale == 0.0F) parts_.scale.reset();
    parts_.softcap = e_.Attribute("softcap", 0.0F);
    parts_.bias = Bias();
    const DataType type = e_.TypeOf(e_.input(kQuery));
    if (e_.input(kSinks) != nullptr) {
      parts_.sinks = e_.Op("Reshape", {e_.input(kSinks), e_.Ints({1, parts_.heads, 1, 1})});
    } else if (e_.Attribute<int64_t>("smooth_softmax", -1) == 1) {
      parts_.sinks = e_.Number(type, 0, {1, 1, 1, 1});
    }
  }

  // The bias has total_sequence_length columns. The past may have room for more keys, which are
  // masked.
  Value* Bias() {
    Value* bias = e_.input(kScoresBias);
    if (bias == nullptr || e_.input(kPastKey) == nullptr) return bias;
    Value* missing = e_.Op("Sub", {e_.ExtentOf(e_.input(kPastKey), 2), e_.ExtentOf(bias, 3)});
    missing = e_.Unsqueeze(e_.Op("Max", {missing, Integer(0)}), {0});
    return e_.Op("Pad", {bias, e_.Op("Concat", {e_.Ints({0}), missing}, {{"axis", int64_t{0}}}),
                         nullptr, e_.Ints({3})});
  }

  // Positions as they are compared with the indices of keys: counted from the first key in the
  // cache.
  Value* ByQuery(Value* positions) {
    if (sliding_) positions = e_.Op("Sub", {positions, e_.Unsqueeze(base_, {1})});
    return e_.Unsqueeze(positions, {1, 3});
  }
  Value* Integer(int64_t number) {
    return e_.Number(DataType::kInt64, static_cast<double>(number));
  }

  Expansion& e_;
  AttentionParts parts_;
  Value* last_ = nullptr;
  Value* first_ = nullptr;
  Value* positions_ = nullptr;
  // Set for a cache that slides: the number of past keys that are kept, [B]; the position of the
  // first of them, [B]; the number of keys dropped after this run, [B]; the capacity; and the
  // number of keys that are attended to.
  bool sliding_ = false;
  Value* kept_ = nullptr;
  Value* base_ = nullptr;
  Value* dropped_ = nullptr;
  Value* capacity_ = nullptr;
  Value* keys_ = nullptr;
};

}  // namespace

//   q  k  v  past_k  past_v  seqlens_k  total  cos  sin      q, k        k, v, past    seqlens_k
//    \  \ |    /      /      /         /      /   /             |              |             |
//          GroupQueryAttention                          RotaryEmbedding  AppendToCache  positions
//            /     |      \                     ->             |          |         |      |
//           y  present_k  present_v                            q     present_k  present_v  mask
//                                                               \         |       /       /
//                                                                    attnrun.Attention
bool ExpandGroupQueryAttention(Expansion& e) { return GroupQuery(e).Propose(); }

}  // namespace attnrun::opt
