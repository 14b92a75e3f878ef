// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_FUSED_ATTENTION_H_
#define ATTNRUN_OPS_ATTENTION_FUSED_ATTENTION_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/attention/head_layout.h"
#include "ops/attention/narrow_form.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The sizes of one attention and where its operands lie, after checking that they fit together.
struct FusedAttentionShape {
  int64_t batch = 1;
  int64_t query_heads = 1;
  int64_t kv_heads = 1;
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t head_size = 1;
  int64_t value_size = 1;
  HeadView q;
  HeadView k;
  HeadView v;

  Shape OutputShape() const { return {batch, queries, query_heads * value_size}; }
  Shape ScoresShape() const { return {batch, query_heads, queries, keys}; }
  Shape SinksShape() const { return {batch, query_heads, queries, 1}; }
};

// attnrun.Attention-1, made by the optimizer, with inputs (q, k, v, bias?, mask?, sinks?) and
// outputs (y, probabilities?):
//   scores = cap(scale * Q K^T) + bias, cap(x) = softcap * tanh(x / softcap), or x if softcap is 0
//   scores = mask_value where mask is false or position masks the key for the query, plus bias if
//     bias_on_masked is 1
//   probabilities = softmax(scores), y = probabilities V, its heads merged: [B, S, Nq * Hv]; with
//     sinks, the first T columns of softmax(scores with the sink as one more column)
//
// Operands. Q [B,S,Nq,H], K [B,T,Nkv,H] and V [B,T,Nkv,Hv] lie in q, k and v, floats of any rank,
// as q_layout, k_layout and v_layout say (see HeadLayout; default "b n s h"). Head n of Q attends
// to head n / (Nq / Nkv). Where a layout lacks a role, the operand is the same along it, and the
// extent is that of the other operands: b and n as in q, k and v, n of k and v as in each other, s
// of k as in v and the reverse; an extent that no operand has is 1. An operand of one sample serves
// all B. K and V may be rows of bytes, which stand for their floats, in the layout of these: int8
// as attnrun.QuantizeRows makes them, or NarrowForm::kBytes if scaled_rows is 0; uint8 is kPairs.
// bias (floats) and mask (bool) broadcast to [B, Nq, S, T], sinks (floats) to [B, Nq, S, 1].
//
// Position. Query s is at position p = s among the keys, or at s + T - S if causal is 2. Keys after
// p are masked if causal is 1 or 2; keys outside [p - left_window, p + right_window] are always
// masked, where a window of -1 is unbounded.
//
// Masked rows. A row whose scores, its sink included, are all -inf gives NaN, or 0 if masked_row is
// "zero" or "guarded"; a row with a score that is NaN or infinite gives NaN, or 0 V if masked_row
// is "guarded": 0, and NaN in the channels where a value is NaN or infinite; a row without keys
// gives 0.
//
// Attributes: scale (float, 1), softcap (float, 0), mask_value (float, -inf), bias_on_masked (int,
// 0), masked_row ("nan", "zero", "guarded"), causal (0, 1, 2), left_window, right_window (int, -1),
// scaled_rows (int, 1) and the layouts. Keys and values must be finite, even masked ones. y and
// probabilities have the type of q.
class FusedAttention final : public Op {
 public:
  explicit FusedAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Attributes of the first three inputs.
  static constexpr std::array<const char*, 3> kLayoutNames = {"q_layout", "k_layout", "v_layout"};

  // Inputs.
  static constexpr int kQuery = 0;
  static constexpr int kKey = 1;
  static constexpr int kValue = 2;
  static constexpr int kBias = 3;
  static constexpr int kMask = 4;
  static constexpr int kSinks = 5;

  // kInvalidArgument for attributes out of range and inputs that do not fit together. Inputs may be
  // strided.
  absl::StatusOr<FusedAttentionShape> Resolve(const OpContext& context) const;

  // True if an input of this type is rows of bytes.
  static bool IsRows(int input, DataType type) {
    const bool bytes = type == DataType::kInt8 || type == DataType::kUint8;
    return bytes && (input == kKey || input == kValue);
  }
  // How such an input holds its numbers.
  NarrowForm FormOfRows(DataType type) const {
    if (type == DataType::kUint8) return NarrowForm::kPairs;
    return scaled_rows_ ? NarrowForm::kScaledBytes : NarrowForm::kBytes;
  }
  // True if the last axis of K or V is that of the channels: its rows are those of heads.
  bool HasRowsOfHeads(int input) const;
  // Position of query 0 among the keys.
  int64_t FirstPosition(const FusedAttentionShape& shape) const {
    return causal_ == 2 ? shape.keys - shape.queries : 0;
  }
  // The value of a row whose scores are all -inf.
  float MaskedRow(const FusedAttentionShape& shape) const;
  // True if a row gives 0 where it would be NaN.
  bool nan_row_is_zero() const { return masked_row_ == "guarded"; }

  float scale() const { return scale_; }
  float softcap() const { return softcap_; }
  float mask_value() const { return mask_value_; }
  bool bias_on_masked() const { return bias_on_masked_; }
  bool causal() const { return causal_ != 0; }
  int64_t left_window() const { return left_window_; }
  int64_t right_window() const { return right_window_; }

 private:
  HeadLayout ReadLayout(AttributeReader& attributes, const std::string& name);
  absl::StatusOr<HeadView> ViewOf(const OpContext& context, int input) const;
  SymInt InferBatch(const InferContext& context) const;
  // Adds the axes of a role that some of q, k and v have, and that is an axis of the scores.
  void AddRole(AxesContext& context, char role, std::initializer_list<int> operands,
               const std::vector<SymInt>& scores, size_t axis_of_scores) const;

  float scale_;
  float softcap_;
  float mask_value_;
  bool bias_on_masked_;
  std::string masked_row_;
  int64_t causal_;
  bool scaled_rows_;
  int64_t left_window_;
  int64_t right_window_;
  // The first error in the attributes.
  absl::Status status_;
  HeadLayout layouts_[3];
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_FUSED_ATTENTION_H_
