// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_GROUP_QUERY_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_GROUP_QUERY_ATTENTION_H_

#include <vector>

#include "ops/contrib/reference_attention.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft GroupQueryAttention-1 (query, key?, value?, past_key?, past_value?, seqlens_k,
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
//   do_rotary: pairs of channels of q and k are rotated by the angles of their positions (see
//     RotaryTables), pairs of neighbors if `rotary_interleaved`
//   scores = scale * q k^T, capped by softcap, + attention_bias; a key is unmasked if it is below
//     seqlens_k[b] + 1, not after the query (unless `causal` is 0), and among the last
//     `local_window_size` (-1: all)
//   y = softmax(scores) v, with head_sink [N], or 0 if `smooth_softmax`, as one more score
// A scale that is left out or 0 is 1 / sqrt(H). A fully masked row, as of padding, gives 0. With
// `sliding_window_cache` past and present [B, M, C, H] hold only the last tokens: after T tokens
// the last L(T), followed by zeros, where
//   L(T) = T - G * ceil(max(T - C, 0) / G), G = C - local_window_size + 1.
// Not covered: position_ids, quantized keys and values, and qk_output.
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
  // Positions of the tokens: common to all samples, then per sample.
  struct Positions {
    // The length of the past, of the keys that are attended to, and of the present.
    int64_t past = 0;
    int64_t keys = 0;
    int64_t capacity = 0;
    // The number of all tokens, and of those before the given ones.
    std::vector<int64_t> lengths = {};
    std::vector<int64_t> first = {};
    // The number of tokens before the given ones that the past holds, and the number of tokens, of
    // these and the given ones, that the present drops.
    std::vector<int64_t> kept = {};
    std::vector<int64_t> dropped = {};
  };
  // kInvalidArgument unless past_key and past_value are given with one shape, or both left out.
  static absl::Status CheckPast(const OpContext& context);
  // Reads the fields that are common to all samples.
  absl::StatusOr<Positions> ReadCapacity(const OpContext& context) const;
  absl::StatusOr<Positions> ReadPositions(const OpContext& context) const;
  // True if num_heads and kv_num_heads are valid and each key head serves equally many query heads.
  bool HasHeads() const;
  // L(length) for a cache of this capacity.
  int64_t Resident(int64_t length, int64_t capacity) const;
  // The queries and the given keys and values; queries and keys are normalized.
  absl::StatusOr<std::vector<ReferenceHeads>> ReadOperands(const OpContext& context) const;
  // Rotates the queries and keys.
  absl::Status Rotate(const OpContext& context, const Positions& positions,
                      std::vector<ReferenceHeads>& qkv) const;
  // One sink per head, or none.
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
