// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_CONTRIB_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_CONTRIB_ATTENTION_H_

#include <optional>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft Attention-1 (x [B, S, D], weights [D, Dq + Dk + Dv], bias? [Dq + Dk + Dv],
// mask_index?, past? [2, B, N, P, H], attention_bias? [B or 1, N or 1, S, T]) -> (y [B, S, Dv],
// present? [2, B, N, T, H]), with T = P + S and N = `num_heads`:
//   q, k, v = the parts of x·weights + bias, of widths `qkv_hidden_sizes` (equal if left out), N
//     heads each; k and v follow those of the past
//   scores = scale * q k^T + attention_bias, plus `mask_filter_value` for masked keys
//   y = softmax(scores) v
// `unidirectional`: query s sees keys up to P + s. For the mask see AttentionMask. Not covered:
// do_rotary, and past_present_share_buffer with its past_sequence_length.
class ContribAttention final : public Op {
 public:
  enum Input { kX, kWeights, kBias, kMask, kPast, kScoresBias, kPastLength };

  explicit ContribAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  // The widths of q, k and v, which add up to `width`.
  absl::StatusOr<std::vector<int64_t>> Sizes(int64_t width) const;

  int64_t heads_;
  bool causal_;
  float filter_;
  std::optional<float> scale_;
  std::vector<int64_t> sizes_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_CONTRIB_ATTENTION_H_
