// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_ATTENTION_H_
#define ATTNRUN_OPS_ATTENTION_ATTENTION_H_

#include <memory>
#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The sizes of one attention, after checking that the inputs fit together.
struct AttentionShape {
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t queries = 0;
  // Keys of the past, and all keys: those of the past and the current ones.
  int64_t past = 0;
  int64_t keys = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;
  // True if inputs and output are [batch, sequence, heads * size], false if they are [batch, heads,
  // sequence, size].
  bool merged = false;
  // The factor on Q K^T.
  double scale = 1;
  // Strides that broadcast the mask to [batch, query_heads, queries, mask_keys]; later keys are
  // masked.
  int64_t mask_keys = 0;
  Shape mask_strides;

  Shape OutputShape() const;
  Shape ScoresShape() const { return {batch, query_heads, queries, keys}; }
  Shape PresentShape(int64_t size) const { return {batch, kv_heads, keys, size}; }
};

// ONNX Attention-23, -24, -25 with inputs (Q, K, V, attn_mask?, past_key?, past_value?,
// nonpad_kv_seqlen?) and outputs (Y, present_key?, present_value?, qk_matmul_output?):
//   scores = scale * Q K^T, capped: softcap * tanh(scores / softcap), plus bias
//   Y = softmax(scores) V
// Neighbouring heads of Q share a head of K and V. The bias is the sum of the float mask (a bool
// mask stands for 0 where true, else -inf) and of -inf where position masks key j for query i: with
// is_causal if j > i + offset, with windows if j is outside [i + offset - left_window, i + offset +
// right_window], and if j >= nonpad_kv_seqlen. offset is the number of past keys, or
// nonpad_kv_seqlen - queries where that input is given, else 0. A row whose bias is -inf everywhere
// gives 0.
class Attention final : public Op {
 public:
  enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidKeys };
  enum Output { kY, kPresentKey, kPresentValue, kScores };

  explicit Attention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  absl::StatusOr<AttentionShape> Resolve(const OpContext& context) const;
  // The keys [begin, end) that position leaves unmasked for one query, attn_mask aside.
  struct Range {
    int64_t begin;
    int64_t end;
  };
  // `valid`: nonpad_kv_seqlen of the sample, or nullopt if that input is left out.
  Range UnmaskedKeys(const AttentionShape& shape, std::optional<int64_t> valid,
                     int64_t query) const;

  bool causal() const { return causal_; }
  int64_t left_window() const { return left_window_; }
  int64_t right_window() const { return right_window_; }
  float softcap() const { return softcap_; }
  DataType softmax_precision() const { return softmax_precision_; }

 private:
  absl::Status ResolveHeads(const OpContext& context, AttentionShape& shape) const;
  absl::Status ResolveMask(const OpContext& context, AttentionShape& shape) const;

  int version_;
  bool causal_;
  int64_t query_heads_;
  int64_t kv_heads_;
  std::optional<float> scale_;
  float softcap_;
  // 0: the scores, 1: capped, 2: with the bias, 3: the probabilities.
  int64_t scores_mode_;
  // kUndefined: the type of Q.
  DataType softmax_precision_;
  // -1: unbounded.
  int64_t left_window_ = -1;
  int64_t right_window_ = -1;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_ATTENTION_H_
