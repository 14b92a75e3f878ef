// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/attention/flex_attention.h"
#include "ops/attention/fused_attention.h"
#include "ops/attention/head_normalization.h"
#include "ops/attention/quantized_rows.h"
#include "ops/attention/rotary_embedding.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

absl::Status CheckRanks(const OpContext& context) {
  const int rank = context.input(0).rank();
  for (int i = 0; i < 3; ++i) {
    const Tensor& tensor = context.input(i);
    if (!IsFloatingPoint(tensor.type()) || (rank != 3 && rank != 4) || tensor.rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected Q, K and V to be floats, all of rank 3 or all of rank 4, but they are ",
          TypeAndShape(context.input(0)), ", ", TypeAndShape(context.input(1)), " and ",
          TypeAndShape(context.input(2))));
    }
  }
  if (context.input(1).type() == context.input(0).type()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected K to be ", Name(context.input(0).type()),
                                                 " as Q, but it is ",
                                                 Name(context.input(1).type())));
}

// The extents of an input [batch, heads, sequence, size], or [batch, sequence, heads * size].
struct HeadExtents {
  int64_t batch, heads, sequence, size;
};

absl::StatusOr<HeadExtents> SplitHeads(const Tensor& tensor, int64_t heads, const char* attribute) {
  if (tensor.rank() == 4) {
    if (heads > 0 && heads != tensor.dim(1)) {
      return absl::InvalidArgumentError(absl::StrCat(attribute, " is ", heads, ", but there are ",
                                                     tensor.dim(1), " heads in ",
                                                     TypeAndShape(tensor)));
    }
    return HeadExtents{tensor.dim(0), tensor.dim(1), tensor.dim(2), tensor.dim(3)};
  }
  if (heads <= 0 || tensor.dim(2) % heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", attribute,
                                                   " to divide the width of ", TypeAndShape(tensor),
                                                   ", but it is ", heads));
  }
  return HeadExtents{tensor.dim(0), heads, tensor.dim(1), tensor.dim(2) / heads};
}

absl::Status CheckPast(const Tensor& past, const Tensor& current, const HeadExtents& heads) {
  if (past.type() == current.type() && past.rank() == 4 && past.dim(0) == heads.batch &&
      past.dim(1) == heads.heads && past.dim(3) == heads.size) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected past keys and values of ", Name(current.type()), "[", heads.batch, ",",
                   heads.heads, ",past,", heads.size, "], but found ", TypeAndShape(past)));
}

}  // namespace

Shape AttentionShape::OutputShape() const {
  if (merged) return {batch, queries, query_heads * value_size};
  return {batch, query_heads, queries, value_size};
}

Attention::Attention(AttributeReader& attributes)
    : version_(attributes.version()),
      causal_(attributes.Int("is_causal", 0) != 0),
      query_heads_(attributes.Int("q_num_heads", 0)),
      kv_heads_(attributes.Int("kv_num_heads", 0)),
      scale_(attributes.Get<float>("scale")),
      softcap_(attributes.Float("softcap", 0)),
      scores_mode_(attributes.Int("qk_matmul_output_mode", 0)),
      softmax_precision_(attributes.ElementType("softmax_precision", DataType::kUndefined)) {
  if (version_ < 24) attributes.ExpectInputs(3, 6);
  if (version_ >= 25) {
    left_window_ = attributes.Int("left_window_size", -1);
    right_window_ = attributes.Int("right_window_size", -1);
  }
}

absl::Status Attention::ResolveHeads(const OpContext& context, AttentionShape& shape) const {
  ATTNRUN_RETURN_IF_ERROR(CheckRanks(context));
  ATTNRUN_ASSIGN_OR_RETURN(const HeadExtents q,
                           SplitHeads(context.input(0), query_heads_, "q_num_heads"));
  ATTNRUN_ASSIGN_OR_RETURN(const HeadExtents k,
                           SplitHeads(context.input(1), kv_heads_, "kv_num_heads"));
  ATTNRUN_ASSIGN_OR_RETURN(const HeadExtents v,
                           SplitHeads(context.input(2), kv_heads_, "kv_num_heads"));
  if (k.batch != q.batch || v.batch != q.batch || k.heads != v.heads || k.size != q.size ||
      k.sequence != v.sequence || k.heads == 0 || q.heads % k.heads != 0 || q.size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Q ", TypeAndShape(context.input(0)), ", K ", TypeAndShape(context.input(1)), " and V ",
        TypeAndShape(context.input(2)), " do not fit together: ", q.heads, ", ", k.heads, " and ",
        v.heads, " heads of size ", q.size, ", ", k.size, " and ", v.size));
  }
  if (context.has_input(kPastKey) != context.has_input(kPastValue)) {
    return absl::InvalidArgumentError("past_key and past_value must be given together");
  }
  if (context.has_input(kPastKey)) {
    const Tensor& past_key = context.input(kPastKey);
    const Tensor& past_value = context.input(kPastValue);
    ATTNRUN_RETURN_IF_ERROR(CheckPast(past_key, context.input(1), k));
    ATTNRUN_RETURN_IF_ERROR(CheckPast(past_value, context.input(2), v));
    if (past_key.dim(2) != past_value.dim(2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "past_key holds ", past_key.dim(2), " keys, but past_value holds ", past_value.dim(2)));
    }
    shape.past = past_key.dim(2);
  }
  shape.batch = q.batch;
  shape.query_heads = q.heads;
  shape.kv_heads = k.heads;
  shape.queries = q.sequence;
  shape.keys = shape.past + k.sequence;
  shape.head_size = q.size;
  shape.value_size = v.size;
  shape.merged = context.input(0).rank() == 3;
  return absl::OkStatus();
}

absl::Status Attention::ResolveMask(const OpContext& context, AttentionShape& shape) const {
  shape.mask_keys = shape.keys;
  if (!context.has_input(kMask)) return absl::OkStatus();
  const Tensor& mask = context.input(kMask);
  if (!IsFloatingPoint(mask.type()) && !IsInteger(mask.type()) && mask.type() != DataType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected attn_mask to be bool or numbers, but it is ", TypeAndShape(mask)));
  }
  // From version 24 on a shorter mask is padded, even one of a single key; before that, one key
  // broadcasts.
  const int64_t last = mask.rank() == 0 ? shape.keys : mask.dim(mask.rank() - 1);
  if (last < shape.keys && (last != 1 || version_ >= 24)) shape.mask_keys = last;
  const Shape full = {shape.batch, shape.query_heads, shape.queries, shape.mask_keys};
  ATTNRUN_ASSIGN_OR_RETURN(shape.mask_strides, BroadcastStrides(mask.shape(), full));
  return absl::OkStatus();
}

absl::StatusOr<AttentionShape> Attention::Resolve(const OpContext& context) const {
  AttentionShape shape;
  ATTNRUN_RETURN_IF_ERROR(ResolveHeads(context, shape));
  ATTNRUN_RETURN_IF_ERROR(ResolveMask(context, shape));
  shape.scale = scale_.has_value() ? static_cast<double>(*scale_)
                                   : 1 / std::sqrt(static_cast<double>(shape.head_size));
  if (left_window_ < -1 || right_window_ < -1 || scores_mode_ < 0 || scores_mode_ > 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected window sizes of at least -1 and qk_matmul_output_mode 0 to 3, but found ",
        left_window_, ", ", right_window_, " and ", scores_mode_));
  }
  if (softmax_precision_ != DataType::kUndefined && !IsFloatingPoint(softmax_precision_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected softmax_precision to be a float type, but it is ", Name(softmax_precision_)));
  }
  if (!context.has_input(kValidKeys)) return shape;
  const Tensor& valid = context.input(kValidKeys);
  if (valid.type() != DataType::kInt64 || valid.shape() != Shape{shape.batch} ||
      context.has_input(kPastKey)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected nonpad_kv_seqlen to be int64[", shape.batch,
                     "] and no past_key beside it, but it is ", TypeAndShape(valid)));
  }
  for (int64_t i = 0; i < shape.batch; ++i) {
    const int64_t count = valid.data<int64_t>()[i];
    if (count < 0 || count > shape.keys) {
      return absl::InvalidArgumentError(
          absl::StrCat("nonpad_kv_seqlen ", count, " is outside [0,", shape.keys, "]"));
    }
  }
  return shape;
}

Attention::Range Attention::UnmaskedKeys(const AttentionShape& shape, std::optional<int64_t> valid,
                                         int64_t query) const {
  const int64_t offset = valid.has_value() ? *valid - shape.queries : shape.past;
  const int64_t position = offset + query;
  Range range{0, std::min(valid.value_or(shape.keys), shape.mask_keys)};
  if (causal_) range.end = std::min(range.end, position + 1);
  // Compares differences, since position + right_window could overflow.
  if (right_window_ >= 0 && right_window_ < range.end - position) {
    range.end = position + right_window_ + 1;
  }
  if (left_window_ >= 0 && left_window_ < position) range.begin = position - left_window_;
  return range;
}

void RegisterAttention(OpRegistry& registry) {
  registry.Register({"", "Attention", {23, 24, 25}, {3, 7}, {1, 4}, Make<Attention>});
  registry.Register({"ai.onnx.preview", "FlexAttention", {1}, {3, 3}, {1, 1}, Make<FlexAttention>});
  registry.Register({"attnrun", "Attention", {1}, {3, 6}, {1, 2}, Make<FusedAttention>});
  registry.Register(
      {"", "RotaryEmbedding", {23}, {3, 4}, {1, 1}, Make<RotaryEmbedding>, kWorksOnRows});
  registry.Register(
      {"attnrun", "RotaryEmbedding", {1}, {3, 4}, {1, 1}, Make<RotaryEmbedding>, kWorksOnRows});
  registry.Register({"attnrun",
                     "HeadRmsNormalization",
                     {1},
                     {2, 2},
                     {1, 1},
                     Make<HeadRmsNormalization>,
                     kWorksOnRows});
  registry.Register({"attnrun", "QuantizeRows", {1}, {1, 1}, {1, 1}, Make<QuantizeRows>});
  registry.Register({"attnrun", "DequantizeRows", {1}, {1, 1}, {1, 1}, Make<DequantizeRows>});
}

}  // namespace attnrun::ops
