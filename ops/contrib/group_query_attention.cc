// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "ops/composite/composite.h"
#include "ops/contrib/attention.h"
#include "ops/contrib/group_query_inputs.h"

namespace attnrun::ops::contrib {
namespace {

// Writes the body of one node.
class GroupQuery {
 public:
  using enum GroupedAttention::Input;

  GroupQuery(Body& b, const GroupedAttention& attention)
      : b_(b), a_(attention), in_(b, attention) {}

  void Write() {
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
    // Integers are attended to as they are: the scales of keys go to q, those of values to y.
    parts_.scaled_rows = !a_.key_cache.quantized && !a_.value_cache.quantized;
    parts_.q = a_.key_cache.TimesScale(b_, parts_.q, b_.input(kKeyScale), a_.heads, in_.head_size);
    Value* y = a_.value_cache.TimesScale(b_, Attend(b_, parts_), b_.input(kValueScale), a_.heads,
                                         in_.head_size);
    b_.Give(parts_.scaled_rows ? y : b_.Cast(y, in_.type));
  }

 private:
  void FindOperands() {
    std::vector<Value*> qkv = {b_.input(kQuery), b_.input(kKey), b_.input(kValue)};
    if (in_.packed) {
      const int64_t keys = a_.kv_heads * in_.head_size;
      qkv = b_.Ops("Split", 3, {b_.input(kQuery), b_.Ints({a_.heads * in_.head_size, keys, keys})},
                   {{"axis", int64_t{-1}}});
    }
    parts_ = {.q = qkv[0],
              .k = qkv[1],
              .v = qkv[2],
              .heads = a_.heads,
              .kv_heads = a_.kv_heads,
              .head_size = in_.head_size,
              .value_size = in_.head_size,
              .type = in_.type};
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
    b_.Expect("norm weights", b_.input(weights), DataType::kUndefined, {in_.head_size});
    Value* split = b_.Op("Reshape", {x, b_.Ints({0, 0, heads, in_.head_size})});
    Value* norm =
        b_.Op("RMSNormalization", {split, b_.input(weights)}, {{"epsilon", a_.norm_epsilon}});
    x = b_.Op("Reshape", {norm, b_.Ints({0, 0, heads * in_.head_size})});
  }

  void Rotate() {
    b_.ExpectInput(kCos, "cos_cache");
    b_.ExpectInput(kSin, "sin_cache");
    b_.Expect("cos_cache", b_.input(kCos), in_.type, {SymInt::Unknown(), SymInt::Unknown()});
    const auto pairs = b_.Extent(b_.input(kCos), 1);
    if (!pairs.has_value() || *pairs > INT64_MAX / 2) return b_.Fail("its angles are not known");
    Value* positions = b_.input(kPositionIds);
    b_.Expect("position_ids", positions, DataType::kInt64,
              {b_.Dim(b_.input(kQuery), 0), b_.Dim(b_.input(kQuery), 1)});
    if (positions == nullptr) positions = positions_;
    AttributeMap attributes = {{"interleaved", int64_t{a_.interleaved}},
                               {"rotary_embedding_dim", 2 * *pairs}};
    for (Value** x : {&parts_.q, &parts_.k}) {
      attributes["num_heads"] = x == &parts_.q ? parts_.heads : parts_.kv_heads;
      *x = b_.Op("RotaryEmbedding", {*x, b_.input(kCos), b_.input(kSin), positions}, attributes);
    }
  }

  void AddPast() {
    parts_.k = a_.key_cache.Heads(b_, parts_.k, b_.input(kKeyScale), in_.head_size);
    parts_.v = a_.value_cache.Heads(b_, parts_.v, b_.input(kValueScale), in_.head_size);
    parts_.keys_by_head = true;
    AttributeMap attributes;
    if (a_.sliding) attributes["room"] = Window();
    for (const int role : {0, 1}) {
      Value* past = b_.input(kPastKey + role);
      Value*& heads = role == 0 ? parts_.k : parts_.v;
      Value* present = heads;
      if (a_.sliding && b_.wants(1 + role)) {
        present =
            b_.Op("attnrun::AppendToCache", {past, heads, kept_, capacity_, dropped_}, attributes);
      }
      if (past != nullptr) {
        heads =
            b_.Op("attnrun::AppendToCache",
                  {past, heads, a_.sliding ? kept_ : first_, a_.sliding ? keys_ : b_.input(kTotal)},
                  attributes);
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
    b_.Expect("head_sink", b_.input(kSinks), in_.type, {parts_.heads});
    if (b_.input(kSinks) != nullptr) {
      parts_.sinks = b_.Op("Reshape", {b_.input(kSinks), b_.Ints({1, parts_.heads, 1, 1})});
    } else if (a_.smooth) {
      parts_.sinks = b_.Number(in_.type, 0, {1, 1, 1, 1});
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
              {any, any, b_.Dim(b_.input(kQuery), 1), in_.total});
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
  const GroupedInputs in_;
  AttentionParts parts_;
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
// total_sequence_length, cos_cache?, sin_cache?, position_ids?, attention_bias?, head_sink?,
// k_scale?, v_scale?, q_norm_weight?, k_norm_weight?) -> (y [B, S, N * H], present_key?,
// present_value?), with N = `num_heads` heads of queries and M = `kv_num_heads` heads of keys and
// values, of H channels each:
//   query [B, S, N * H], key and value [B, S, M * H]
//   query [B, S, (N + 2 M) * H]                       all three
// Sample b has seqlens_k[b] + 1 tokens (int32), including the S given ones, so the first given
// token is at position p = max(seqlens_k[b] + 1 - S, 0). The past [B, M, P, H] holds the p tokens
// before it, or more. The present [B, M, max(P, total_sequence_length), H] holds these p tokens,
// then the given ones, then zeros.
//   with norm weights [H]: q and k become x / sqrt(mean(x^2) + qk_norm_epsilon) * weight
//   do_rotary: pairs of channels of q and k are rotated by the angles of their positions, pairs of
//     neighbors if `rotary_interleaved`; position_ids [B, S] (int64), if given, say which rows of
//     the caches of angles these are (ONNX Runtime reads the first one alone while nothing is past)
//   scores = scale * q k^T, capped by softcap, + attention_bias; a key is unmasked if it is below
//     seqlens_k[b] + 1, not after the query (unless `causal` is 0), and among the last
//     `local_window_size` (-1: all)
//   y = softmax(scores) v, with head_sink [N], or 0 if `smooth_softmax`, as one more score
// A scale that is left out or 0 is 1 / sqrt(H). A fully masked row, as of padding, gives 0. With
// `sliding_window_cache` past and present [B, M, C, H] hold only the last tokens: after T tokens
// the last L(T), followed by zeros, where
//   L(T) = T - G * ceil(max(T - C, 0) / G), G = C - local_window_size + 1.
// With a k_quant_type (v_quant_type) other than NONE the past holds keys (values) k as integers
// q = round(k / scale), which stand for scale * q also where the given tokens are attended to: as
// int8 if kv_cache_bit_width is 8. If it is 4, as uint8 [B, M, P, H / 2] with two integers from -8
// to 7 a byte, to which 8 is added, the first one in its low half. PER_TENSOR: there is one scale;
// PER_CHANNEL: scales broadcast to [1, M, 1, H].
// Not covered: caches of 8-bit floats, and qk_output.
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
