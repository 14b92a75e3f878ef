// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_MULTI_HEAD_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_MULTI_HEAD_ATTENTION_H_

#include <optional>
#include <vector>

#include "ops/contrib/reference_attention.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft MultiHeadAttention-1 (query, key?, value?, bias?, key_padding_mask?,
// attention_bias?, past_key?, past_value?) -> (y [B, S, N * Hv], present_key?, present_value?),
// with N = `num_heads`. Queries, keys and values come as
//   query [B, S, N * H], key [B, L, N * H], value [B, L, N * Hv]
//   query, key [B, N, L, H], value [B, N, L, Hv]    without bias for key and value
//   query, key [B, L, N, 2, H]                      keys and values
//   query [B, S, N, 3, H]                           all three
// The parts of bias [N * (2 H + Hv)] are added to them. Keys and values follow those of the past
// [B, N, P, H]; there are T = P + L of them.
//   scores = scale * q k^T + attention_bias, plus `mask_filter_value` for masked keys
//   y = softmax(scores) v
// `unidirectional`, where L = S: query s sees keys up to P + s. For the mask see AttentionMask. Not
// covered: the past as a buffer (past_sequence_length, cache_indirection), and the fourth output.
class MultiHeadAttention final : public Op {
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

  explicit MultiHeadAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  // The queries and the given keys and values, with the bias added.
  absl::StatusOr<std::vector<ReferenceHeads>> ReadOperands(const OpContext& context) const;
  // Puts the past before the keys and values; returns the number of its keys.
  absl::StatusOr<int64_t> AddPast(const OpContext& context, std::vector<ReferenceHeads>& qkv) const;

  int64_t heads_;
  bool causal_;
  float filter_;
  std::optional<float> scale_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_MULTI_HEAD_ATTENTION_H_
