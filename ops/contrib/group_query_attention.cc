// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/contrib/attention.h"

namespace attnrun::ops::contrib {
namespace {

enum Input {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositionIds,
  kScoresBias,
  kSinks,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm
};

struct GroupedAttention {
  explicit GroupedAttention(AttributeReader& attributes);

  int64_t heads;
  int64_t kv_heads;
  float scale;
  float softcap;
  bool causal;
  int64_t window;
  bool rotary;
  bool interleaved;
  bool smooth;
  bool sliding;
  float norm_epsilon;
};

GroupedAttention::GroupedAttention(AttributeReader& attributes)
    : heads(attributes.Required<int64_t>("num_heads")),
      kv_heads(attributes.Required<int64_t>("kv_num_heads")),
      scale(attributes.Float("scale", 0)),
      softcap(attributes.Float("softcap", 0)),
      causal(attributes.Int("causal", 1) != 0),
      window(attributes.Int("local_window_size", -1)),
      rotary(attributes.Int("do_rotary", 0) != 0),
      interleaved(attributes.Int("rotary_interleaved", 0) != 0),
      smooth(attributes.Int("smooth_softmax", -1) == 1),
      sliding(attributes.Int("sliding_window_cache", 0) != 0),
      norm_epsilon(attributes.Float("qk_norm_epsilon", 1e-6F)) {
  attributes.ExpectInt("qk_output", 0);
  attributes.Ignore("kv_cache_bit_width");
  attributes.OneOf("k_quant_type", "NONE", {"NONE"});
  attributes.OneOf("v_quant_type", "NONE", {"NONE"});
  attributes.ExpectNoInput(kPositionIds, "position_ids");
  attributes.ExpectNoInput(kKeyScale, "k_scale");
  attributes.ExpectNoInput(kValueScale, "v_scale");
}

// Writes the body of one node.
class GroupQuery {
 public:
  GroupQuery(Body& b, const GroupedAttention& attention) : b_(b), a_(attention) {}

  void Write() {
    FindHeads();
    CheckPast();
    CheckTotal();
    if (b_.failed()) return;
    FindOperands();
    FindPositions();
    if (a_.sliding) FindResidents();
    Normalize(kQueryNorm, parts_.heads, parts_.q);
    Normalize(kKeyNorm, parts_.kv_heads, parts_.k);
    if (a_.rotary) Rotate();
    if (b_.failed()) return;
    AddPast();
    parts_.mask = Mask();
    AddTerms();
    GiveAttention(b_, parts_);
  }

 private:
  // Finds the number and the size of the heads.
  void FindHeads() {
    Value* query = b_.input(kQuery);
    if (!IsHeadCount(a_.heads) || !IsHeadCount(a_.kv_heads) || a_.heads % a_.kv_heads != 0) {
      b_.Fail(
          absl::StrCat("expected num_heads to be a multiple of kv_num_heads, both from 1 to "
                       "2^31, but found ",
                       a_.heads, " and ", a_.kv_heads));
      return;
    }
    packed_ = b_.input(kKey) == nullptr;
    const int64_t count = a_.heads + (packed_ ? 2 * a_.kv_heads : 0);
    const auto width = b_.Extent(query, -1);
    const bool known = b_.RankOf(query) >= 0 && width.has_value();
    const bool fits = b_.RankOf(query) == 3 && width.value_or(0) > 0 && *width % count == 0;
    if (packed_ != (b_.input(kValue) == nullptr) || (known && !fits)) {
      b_.Fail(absl::StrCat("expected both key and value or neither, and a query of ", count,
                           " heads, but the query is ", b_.Describe(query)));
    }
    type_ = b_.TypeOf(query);
    if (!known || type_ == DataType::kUndefined) b_.Fail("the size of its heads is not known");
    if (b_.failed()) return;
    size_ = *width / count;
    b_.ExpectFloats({query, b_.input(kKey), b_.input(kValue), b_.input(kPastKey),
                     b_.input(kPastValue), b_.input(kQueryNorm), b_.input(kKeyNorm)});
    for (const int role : {kKey, kValue}) {
      b_.Expect("key and value", b_.input(role), type_,
                {b_.Dim(query, 0), b_.Dim(query, 1), a_.kv_heads * size_});
    }
  }

  void CheckPast() {
    Value* keys = b_.input(kPastKey);
    Value* values = b_.input(kPastValue);
    const SymInt batch = b_.Dim(b_.input(kQuery), 0);
    b_.Expect("the past", keys, type_, {batch, a_.kv_heads, SymInt::Unknown(), size_});
    b_.Expect("the past", values, type_, {batch, a_.kv_heads, SymInt::Unknown(), size_});
    const auto room = b_.Extent(keys, 2);
    const auto other = b_.Extent(values, 2);
    const bool differs = room.has_value() && other.has_value() && *room != *other;
    if ((keys == nullptr) == (values == nullptr) && !differs) return;
    b_.Fail(absl::StrCat("expected past_key and past_value of one shape, but they are ",
                         b_.Describe(keys), " and ", b_.Describe(values)));
  }

  // Checks the lengths, and the window of a cache that slides.
  void CheckTotal() {
    b_.ExpectInput(kLengths, "seqlens_k");
    b_.ExpectInput(kTotal, "total_sequence_length");
    for (const int i : {kLengths, kTotal}) {
      const DataType type = b_.TypeOf(b_.input(i));
      if (type == DataType::kInt32 || type == DataType::kUndefined) continue;
      b_.Fail(
          absl::StrCat("expected seqlens_k and total_sequence_length to be int32, but they are ",
                       b_.Describe(b_.input(kLengths)), " and ", b_.Describe(b_.input(kTotal))));
    }
    const auto& contents = b_.Of(b_.input(kTotal)).contents;
    if (contents.has_value() && contents->size() == 1) total_ = (*contents)[0];
    Value* past = b_.input(kPastKey);
    const auto room = past == nullptr ? 0 : b_.Extent(past, 2);
    const auto given = b_.Extent(b_.input(kQuery), 1);
    const auto total = total_.constant();
    if (a_.sliding) {
      const bool fits = past != nullptr && a_.window > 0 && a_.window <= room.value_or(a_.window);
      if (fits && b_.input(kScoresBias) == nullptr) return;
      return b_.Fail(fits
                         ? "its cache slides, but it has a bias"
                         : absl::StrCat("expected a local_window_size from 1 to the number of past "
                                        "positions, but they are ",
                                        a_.window, " and ", b_.Dim(past, 2).ToString()));
    }
    if (!room.has_value() || !given.has_value() || !total.has_value()) return;
    if (*total < *given && past == nullptr) {
      b_.Fail(absl::StrCat("expected a total_sequence_length of at least ", *given,
                           " new tokens, but found ", *total));
    }
    if (*total < 0 || *total > *room + *given) {
      b_.Fail(absl::StrCat("expected a total_sequence_length of at most ", *room, " past and ",
                           *given, " new tokens, but found ", *total));
    }
  }

  void FindOperands() {
    std::vector<Value*> qkv = {b_.input(kQuery), b_.input(kKey), b_.input(kValue)};
    if (packed_) {
      const int64_t keys = a_.kv_heads * size_;
      qkv = b_.Ops("Split", 3, {b_.input(kQuery), b_.Ints({a_.heads * size_, keys, keys})},
                   {{"axis", int64_t{-1}}});
    }
    parts_ = {.q = qkv[0],
              .k = qkv[1],
              .v = qkv[2],
              .heads = a_.heads,
              .kv_heads = a_.kv_heads,
              .head_size = size_,
              .value_size = size_,
              .type = type_};
  }

  // Computes first_ = max(seqlens_k + 1 - S, 0), [B], and positions_, those of the given tokens,
  // [B, S].
  void FindPositions() {
    last_ = b_.Op("Reshape", {b_.Cast(b_.input(kLengths), DataType::kInt64), b_.Ints({-1})});
    b_.Expect("seqlens_k", last_, DataType::kUndefined, {b_.Dim(b_.input(kQuery), 0)});
    Value* given = b_.ExtentOf(b_.input(kQuery), 1);
    Value* before = b_.Op("Sub", {b_.Op("Add", {last_, Integer(1)}), given});
    first_ = b_.Op("Max", {before, Integer(0)});
    positions_ = b_.Op("Add", {b_.Unsqueeze(first_, {1}), b_.Unsqueeze(b_.Range(given), {0})});
  }

  // The number of `length` tokens that a sliding cache keeps: T - G * ceil(max(T - C, 0) / G),
  // where T is `length`, C the capacity, W the window and G = C - W + 1.
  Value* Resident(Value* length, Value* capacity) {
    Value* evicted = b_.Op("Sub", {capacity, Integer(Window() - 1)});
    evicted = b_.Op("Max", {evicted, Integer(1)});
    Value* more = b_.Op("Max", {b_.Op("Sub", {length, capacity}), Integer(0)});
    Value* up = b_.Op("Sub", {b_.Op("Add", {more, evicted}), Integer(1)});
    return b_.Op("Sub", {length, b_.Op("Mul", {b_.Op("Div", {up, evicted}), evicted})});
  }

  // Computes the counts of a sliding cache.
  void FindResidents() {
    Value* capacity = b_.ExtentOf(b_.input(kPastKey), 2);
    kept_ = Resident(first_, capacity);
    base_ = b_.Op("Sub", {first_, kept_});
    Value* length = b_.Op("Add", {last_, Integer(1)});
    dropped_ = b_.Op("Sub", {b_.Op("Sub", {length, Resident(length, capacity)}), base_});
    capacity_ = capacity;
    keys_ = b_.Op("Add", {capacity, b_.ExtentOf(b_.input(kQuery), 1)});
  }

  // Positions are int32, so a window beyond that masks no key; neither does a negative one.
  int64_t Window() const { return a_.window < 0 || a_.window > int64_t{1} << 31 ? -1 : a_.window; }

  void Normalize(int weights, int64_t heads, Value*& x) {
    if (b_.input(weights) == nullptr) return;
    b_.Expect("norm weights", b_.input(weights), DataType::kUndefined, {size_});
    Value* split = b_.Op("Reshape", {x, b_.Ints({0, 0, heads, size_})});
    Value* norm =
        b_.Op("RMSNormalization", {split, b_.input(weights)}, {{"epsilon", a_.norm_epsilon}});
    x = b_.Op("Reshape", {norm, b_.Ints({0, 0, heads * size_})});
  }

  void Rotate() {
    b_.ExpectInput(kCos, "cos_cache");
    b_.ExpectInput(kSin, "sin_cache");
    b_.Expect("cos_cache", b_.input(kCos), type_, {SymInt::Unknown(), SymInt::Unknown()});
    const auto pairs = b_.Extent(b_.input(kCos), 1);
    if (!pairs.has_value() || *pairs > INT64_MAX / 2) return b_.Fail("its angles are not known");
    AttributeMap attributes = {{"interleaved", int64_t{a_.interleaved}},
                               {"rotary_embedding_dim", 2 * *pairs}};
    for (Value** x : {&parts_.q, &parts_.k}) {
      attributes["num_heads"] = x == &parts_.q ? parts_.heads : parts_.kv_heads;
      *x = b_.Op("RotaryEmbedding", {*x, b_.input(kCos), b_.input(kSin), positions_}, attributes);
    }
  }

  void AddPast() {
    PutByHead(b_, parts_);
    for (const int role : {0, 1}) {
      Value* past = b_.input(kPastKey + role);
      Value*& heads = role == 0 ? parts_.k : parts_.v;
      Value* present = heads;
      if (a_.sliding && b_.wants(1 + role)) {
        present = b_.Op("attnrun::AppendToCache", {past, heads, kept_, capacity_, dropped_});
      }
      if (past != nullptr) {
        heads = b_.Op("attnrun::AppendToCache", {past, heads, a_.sliding ? kept_ : first_,
                                                 a_.sliding ? keys_ : b_.input(kTotal)});
      }
      b_.Give(a_.sliding ? present : heads, 1 + role);
    }
  }

  // bool [B, 1, S, T]: true at keys that the sample has, up to the query's position and in the
  // window.
  Value* Mask() {
    Value* key = b_.Unsqueeze(b_.Range(Keys()), {0, 1, 2});
    Value* limit = b_.Unsqueeze(last_, {1});
    if (a_.causal) limit = b_.Op("Min", {positions_, limit});
    Value* unmasked = b_.Op("LessOrEqual", {key, ByQuery(limit)});
    if (Window() < 0) return unmasked;
    Value* masked = b_.Op("Sub", {positions_, Integer(Window())});
    return b_.Op("And", {unmasked, b_.Op("Greater", {key, ByQuery(masked)})});
  }

  Value* Keys() {
    if (a_.sliding) return keys_;
    Value* keys = b_.Op("Squeeze", {b_.Cast(b_.input(kTotal), DataType::kInt64)});
    if (b_.input(kPastKey) == nullptr) return keys;
    return b_.Op("Max", {keys, b_.ExtentOf(b_.input(kPastKey), 2)});
  }

  void AddTerms() {
    if (a_.scale != 0) parts_.scale = a_.scale;
    parts_.softcap = a_.softcap;
    parts_.bias = Bias();
    b_.Expect("head_sink", b_.input(kSinks), type_, {parts_.heads});
    if (b_.input(kSinks) != nullptr) {
      parts_.sinks = b_.Op("Reshape", {b_.input(kSinks), b_.Ints({1, parts_.heads, 1, 1})});
    } else if (a_.smooth) {
      parts_.sinks = b_.Number(type_, 0, {1, 1, 1, 1});
    }
  }

  // The bias has total_sequence_length columns. The past may have room for more keys, which are
  // masked.
  Value* Bias() {
    Value* bias = b_.input(kScoresBias);
    if (bias == nullptr) return nullptr;
    if (b_.RankOf(bias) < 0) b_.Fail("its bias is not known to have 4 axes");
    const SymInt any = SymInt::Unknown();
    b_.Expect("attention_bias", bias, DataType::kUndefined,
              {any, any, b_.Dim(b_.input(kQuery), 1), total_});
    if (b_.input(kPastKey) == nullptr) return bias;
    Value* missing = b_.Op("Sub", {b_.ExtentOf(b_.input(kPastKey), 2), b_.ExtentOf(bias, 3)});
    missing = b_.Unsqueeze(b_.Op("Max", {missing, Integer(0)}), {0});
    return b_.Op("Pad", {bias, b_.Op("Concat", {b_.Ints({0}), missing}, {{"axis", int64_t{0}}}),
                         nullptr, b_.Ints({3})});
  }

  // Positions as they are compared with the indices of keys: counted from the first key in the
  // cache.
  Value* ByQuery(Value* positions) {
    if (a_.sliding) positions = b_.Op("Sub", {positions, b_.Unsqueeze(base_, {1})});
    return b_.Unsqueeze(positions, {1, 3});
  }
  Value* Integer(int64_t number) {
    return b_.Number(DataType::kInt64, static_cast<double>(number));
  }

  Body& b_;
  const GroupedAttention& a_;
  AttentionParts parts_;
  DataType type_ = DataType::kUndefined;
  int64_t size_ = 0;
  // The query holds keys and values as well.
  bool packed_ = false;
  // total_sequence_length, if it is known.
  SymInt total_ = SymInt::Unknown();
  Value* last_ = nullptr;
  Value* first_ = nullptr;
  Value* positions_ = nullptr;
  // Set for a cache that slides: the number of past keys that are kept, [B]; the position of the
  // first of them, [B]; the number of keys dropped after this run, [B]; the capacity; and the
  // number of keys that are attended to.
  Value* kept_ = nullptr;
  Value* base_ = nullptr;
  Value* dropped_ = nullptr;
  Value* capacity_ = nullptr;
  Value* keys_ = nullptr;
};

}  // namespace

// GroupQueryAttention-1 (query, key?, value?, past_key?, past_value?, seqlens_k,
// total_sequence_length, cos_cache?, sin_cache?, -, attention_bias?, head_sink?, -, -,
// q_norm_weight?, k_norm_weight?) -> (y [B, S, N * H], present_key?, present_value?), with N =
// `num_heads` heads of queries and M = `kv_num_heads` heads of keys and values, of H channels each:
//   query [B, S, N * H], key and value [B, S, M * H]
//   query [B, S, (N + 2 M) * H]                       all three
// Sample b has seqlens_k[b] + 1 tokens (int32), including the S given ones, so the first given
// token is at position p = max(seqlens_k[b] + 1 - S, 0). The past [B, M, P, H] holds the p tokens
// before it, or more. The present [B, M, max(P, total_sequence_length), H] holds these p tokens,
// then the given ones, then zeros.
//   with norm weights [H]: q and k become x / sqrt(mean(x^2) + qk_norm_epsilon) * weight
//   do_rotary: pairs of channels of q and k are rotated by the angles of their positions, pairs of
//     neighbors if `rotary_interleaved`
//   scores = scale * q k^T, capped by softcap, + attention_bias; a key is unmasked if it is below
//     seqlens_k[b] + 1, not after the query (unless `causal` is 0), and among the last
//     `local_window_size` (-1: all)
//   y = softmax(scores) v, with head_sink [N], or 0 if `smooth_softmax`, as one more score
// A scale that is left out or 0 is 1 / sqrt(H). A fully masked row, as of padding, gives 0. With
// `sliding_window_cache` past and present [B, M, C, H] hold only the last tokens: after T tokens
// the last L(T), followed by zeros, where
//   L(T) = T - G * ceil(max(T - C, 0) / G), G = C - local_window_size + 1.
// Not covered: position_ids, quantized keys and values, and qk_output.
//
//   q  k  v  past_k  past_v  seqlens_k  total  cos  sin      q, k        k, v, past    seqlens_k
//    \  \ |    /      /      /         /      /   /             |              |             |
//          GroupQueryAttention                          RotaryEmbedding  AppendToCache  positions
//            /     |      \                     ->             |          |         |      |
//           y  present_k  present_v                            q     present_k  present_v  mask
//                                                               \         |       /       /
//                                                                    attnrun.Attention
Composite::Writer GroupQueryAttention(AttributeReader& attributes) {
  const GroupedAttention attention(attributes);
  return [=](Body& b) { GroupQuery(b, attention).Write(); };
}

}  // namespace attnrun::ops::contrib
