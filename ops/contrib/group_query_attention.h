// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_GROUP_QUERY_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_GROUP_QUERY_ATTENTION_H_

#include <vector>

#include "ops/contrib/naive_attention.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft GroupQueryAttention (query, key?, value?, past_key?, past_value?, seqlens_k,
// total_sequence_length, cos_cache?, sin_cache?, -, attention_bias?, head_sink?, -, -,
// q_norm_weight?, k_norm_weight?) -> (y [B, S, N * H], present_key?, present_value?).
// N = `num_heads` queries and M = `kv_num_heads` keys and values, of H channels each, lie in
//   query [B, S, N * H], key and value [B, S, M * H]
//   query [B, S, (N + 2 M) * H]                       all three
// Sample b has seqlens_k[b] + 1 tokens (int32), the S given ones among them; so the first of them
// stands at p = max(seqlens_k[b] + 1 - S, 0). The past [B, M, P, H] holds the p tokens before, or
// more, and the present [B, M, max(P, total_sequence_length), H] these, then the given ones, then
// zeros.
//   with norm weights [H]: q and k become x / sqrt(mean(x^2) + qk_norm_epsilon) * weight
//   do_rotary: channels of q and k are turned by the angles of their positions (see NaiveAngles),
//     pairs of neighbours if `rotary_interleaved`
//   scores = scale * q k^T, capped by softcap, + attention_bias, for keys below seqlens_k[b] + 1,
//     not after the query unless `causal` is 0, and among the last `local_window_size` (-1: all)
//   y = softmax(scores) v, with head_sink [N], or 0 if `smooth_softmax`, as one more score
// A scale that is left out or 0 is 1 / sqrt(H). A row without open keys, of padding, gives 0.
// With `sliding_window_cache` past and present [B, M, C, H] hold the last of the tokens alone:
// after T of them the last L(T), followed by zeros, where
//   L(T) = T - G * ceil(max(T - C, 0) / G), G = C - local_window_size + 1.
// Not covered: position_ids, keys and values that are quantized, and qk_output.
class GroupQueryAttention final : public Op {
 public:
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

  explicit GroupQueryAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  // Where tokens stand: of all samples and of each.
  struct Positions {
    // Of the past. Keys that are attended to, and of the present.
    int64_t past = 0;
    int64_t keys = 0;
    int64_t capacity = 0;
    // All tokens, and those before the given ones.
    std::vector<int64_t> lengths = {};
    std::vector<int64_t> first = {};
    // Tokens before the given ones that the past holds, and how many are dropped from them and the
    // given ones for the present.
    std::vector<int64_t> kept = {};
    std::vector<int64_t> dropped = {};
  };
  // kInvalidArgument unless keys and values of the past, or neither, are given, of one shape.
  static absl::Status CheckPast(const OpContext& context);
  // What holds for all samples.
  absl::StatusOr<Positions> ReadCapacity(const OpContext& context) const;
  absl::StatusOr<Positions> ReadPositions(const OpContext& context) const;
  // Whether there can be so many heads, and each of the keys serves as many queries.
  bool HasHeads() const;
  // L(length) for a cache of this capacity.
  int64_t Resident(int64_t length, int64_t capacity) const;
  // Queries, and given keys and values, normalized.
  absl::StatusOr<std::vector<NaiveHeads>> ReadOperands(const OpContext& context) const;
  // Turns the first two of them.
  absl::Status Turn(const OpContext& context, const Positions& positions,
                    std::vector<NaiveHeads>& qkv) const;
  // One for each head, or none.
  absl::StatusOr<std::vector<double>> ReadSinks(const OpContext& context) const;

  int64_t heads_;
  int64_t kv_heads_;
  float scale_;
  float softcap_;
  bool causal_;
  int64_t window_;
  bool rotary_;
  bool interleaved_;
  bool smooth_;
  bool sliding_;
  float norm_epsilon_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_GROUP_QUERY_ATTENTION_H_
