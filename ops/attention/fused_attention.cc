// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/fused_attention.h"

#include <initializer_list>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/attention/quantized_rows.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// The rank of the scores [B, Nq, S, T].
constexpr int kScoresRank = 4;

absl::Status CheckTypes(const OpContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    const DataType type = context.input(i).type();
    if (FusedAttention::IsRows(i, type)) continue;
    if (i == FusedAttention::kMask ? type == DataType::kBool : IsFloatingPoint(type)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats q, k, v, bias and sinks and a bool mask, but input ", i,
                     " is ", TypeAndShape(context.input(i))));
  }
  return absl::OkStatus();
}

// The extent shared by all operands that have it; 1 if none has.
absl::StatusOr<int64_t> Common(absl::string_view what, std::initializer_list<int64_t> extents) {
  int64_t common = HeadView::kAbsent;
  for (const int64_t extent : extents) {
    if (extent == HeadView::kAbsent || extent == common) continue;
    if (common != HeadView::kAbsent) {
      return absl::InvalidArgumentError(
          absl::StrCat("q, k and v do not fit together: ", what, " is ", common, " and ", extent));
    }
    common = extent;
  }
  return common == HeadView::kAbsent ? 1 : common;
}

// Samples broadcast as in ONNX's MatMul and Add: an operand of one sample serves all.
absl::StatusOr<int64_t> BroadcastBatch(std::initializer_list<int64_t> extents) {
  int64_t batch = 1;
  for (const int64_t extent : extents) {
    if (extent == HeadView::kAbsent || extent == 1 || extent == batch) continue;
    if (batch != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "q, k, v, bias, mask and sinks do not fit together: b is ", batch, " and ", extent));
    }
    batch = extent;
  }
  return batch;
}

// The batch extent of bias, mask or sinks; kAbsent where the operand is the same for all samples.
int64_t BatchOf(const OpContext& context, int input) {
  const bool has_batch = context.has_input(input) && context.input(input).rank() == kScoresRank;
  return has_batch ? context.input(input).dim(0) : HeadView::kAbsent;
}

absl::Status ResolveSizes(const OpContext& context, FusedAttentionShape& shape) {
  HeadView& q = shape.q;
  HeadView& k = shape.k;
  HeadView& v = shape.v;
  ATTNRUN_ASSIGN_OR_RETURN(shape.batch, BroadcastBatch({q.batch, k.batch, v.batch,
                                                        BatchOf(context, FusedAttention::kBias),
                                                        BatchOf(context, FusedAttention::kMask),
                                                        BatchOf(context, FusedAttention::kSinks)}));
  for (HeadView* view : {&q, &k, &v}) {
    if (view->batch == 1) view->strides.batch = 0;
  }
  ATTNRUN_ASSIGN_OR_RETURN(shape.queries, Common("s", {q.sequence}));
  ATTNRUN_ASSIGN_OR_RETURN(shape.keys, Common("s of k and v", {k.sequence, v.sequence}));
  ATTNRUN_ASSIGN_OR_RETURN(shape.kv_heads, Common("n of k and v", {k.heads, v.heads}));
  ATTNRUN_ASSIGN_OR_RETURN(shape.head_size, Common("h of q and k", {q.size, k.size}));
  shape.query_heads = q.heads == HeadView::kAbsent ? shape.kv_heads : q.heads;
  shape.value_size = v.size;
  if (shape.kv_heads == 0 || shape.query_heads % shape.kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected the heads of q to be a multiple of those of k and v, but they are ",
                     shape.query_heads, " and ", shape.kv_heads));
  }
  // Tensors without elements may have extents whose product is beyond int64.
  ATTNRUN_RETURN_IF_ERROR(NumElements(shape.ScoresShape()).status());
  return NumElements({shape.batch, shape.queries, shape.query_heads, shape.value_size}).status();
}

absl::Status CheckBroadcast(const OpContext& context, int input, absl::string_view name,
                            const Shape& scores) {
  if (!context.has_input(input)) return absl::OkStatus();
  return Annotate(BroadcastStrides(context.input(input).shape(), scores).status(), name);
}

}  // namespace

HeadLayout FusedAttention::ReadLayout(AttributeReader& attributes, const std::string& name) {
  const std::string text = attributes.String(name, "b n s h");
  absl::StatusOr<HeadLayout> layout = HeadLayout::Parse(text);
  if (layout.ok()) return *std::move(layout);
  status_.Update(Annotate(layout.status(), name));
  return {};
}

FusedAttention::FusedAttention(AttributeReader& attributes)
    : scale_(attributes.Float("scale", 1)),
      softcap_(attributes.Float("softcap", 0)),
      mask_value_(attributes.Float("mask_value", -std::numeric_limits<float>::infinity())),
      bias_on_masked_(attributes.Int("bias_on_masked", 0) != 0),
      masked_row_(attributes.OneOf("masked_row", "nan", {"nan", "zero", "guarded"})),
      causal_(attributes.Int("causal", 0)),
      scaled_rows_(attributes.Int("scaled_rows", 1) != 0),
      left_window_(attributes.Int("left_window", -1)),
      right_window_(attributes.Int("right_window", -1)) {
  for (int i = 0; i < 3; ++i) layouts_[i] = ReadLayout(attributes, kLayoutNames[i]);
  if (causal_ < 0 || causal_ > 2 || left_window_ < -1 || right_window_ < -1) {
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat("expected causal to be 0, 1 or 2 and windows of at least -1, but found ",
                     causal_, ", ", left_window_, " and ", right_window_)));
  }
}

float FusedAttention::MaskedRow(const FusedAttentionShape& shape) const {
  // A product with no terms is 0.
  if (masked_row_ != "nan" || shape.keys == 0) return 0;
  return std::numeric_limits<float>::quiet_NaN();
}

absl::StatusOr<HeadView> FusedAttention::ViewOf(const OpContext& context, int input) const {
  const Tensor& tensor = context.input(input);
  Shape shape = tensor.shape();
  if (IsRows(input, tensor.type())) {
    const NarrowForm form = FormOfRows(tensor.type());
    ATTNRUN_RETURN_IF_ERROR(CheckRows(tensor, form));
    shape.back() = NumbersOfRow(shape.back(), form);
  }
  absl::StatusOr<HeadView> view = layouts_[input].Resolve(shape, StridesOf(tensor));
  if (view.ok()) return view;
  return Annotate(view.status(), kLayoutNames[input]);
}

bool FusedAttention::HasRowsOfHeads(int input) const {
  const auto& axes = layouts_[input].axes;
  return !axes.empty() && axes.back() == HeadLayout::Axis{0, {{'h', HeadLayout::kRest}}};
}

absl::StatusOr<FusedAttentionShape> FusedAttention::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(status_);
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  FusedAttentionShape shape;
  ATTNRUN_ASSIGN_OR_RETURN(shape.q, ViewOf(context, kQuery));
  ATTNRUN_ASSIGN_OR_RETURN(shape.k, ViewOf(context, kKey));
  ATTNRUN_ASSIGN_OR_RETURN(shape.v, ViewOf(context, kValue));
  ATTNRUN_RETURN_IF_ERROR(ResolveSizes(context, shape));
  ATTNRUN_RETURN_IF_ERROR(CheckBroadcast(context, kBias, "bias", shape.ScoresShape()));
  ATTNRUN_RETURN_IF_ERROR(CheckBroadcast(context, kMask, "mask", shape.ScoresShape()));
  ATTNRUN_RETURN_IF_ERROR(CheckBroadcast(context, kSinks, "sinks", shape.SinksShape()));
  return shape;
}

SymInt FusedAttention::InferBatch(const InferContext& context) const {
  std::vector<SymInt> batch = {1};
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    const auto& dims = context.input(i).dims;
    std::optional<SymInt> extent;
    if (i <= kValue) {
      extent = layouts_[i].Extent('b', dims.value_or(std::vector<SymInt>()));
    } else if (!dims.has_value()) {
      extent = SymInt::Unknown();
    } else if (dims->size() == kScoresRank) {
      extent = dims->front();
    }
    if (!extent.has_value()) continue;
    batch = BroadcastDims(batch, std::vector<SymInt>{*extent}).value_or(batch);
  }
  return batch.front();
}

void FusedAttention::Infer(InferContext& context) const {
  if (!status_.ok()) return;
  // The extent of the role in the first of these operands that has it, else 1; unknown where an
  // operand's rank is unknown.
  const auto extent = [&](char role, std::initializer_list<int> operands) {
    for (const int i : operands) {
      std::vector<SymInt> dims = context.input(i).dims.value_or(std::vector<SymInt>());
      if (IsRows(i, context.input(i).type) && !dims.empty()) {
        dims.back() = NumbersOfRow(dims.back(), FormOfRows(context.input(i).type));
      }
      const std::optional<SymInt> found = layouts_[i].Extent(role, dims);
      if (found.has_value()) return *found;
    }
    return SymInt(1);
  };
  const SymInt batch = InferBatch(context);
  const SymInt heads = extent('n', {kQuery, kKey, kValue});
  const SymInt queries = extent('s', {kQuery});
  const SymInt keys = extent('s', {kKey, kValue});
  const DataType type = context.input(kQuery).type;
  context.SetOutput(
      0, {type, std::vector<SymInt>{batch, queries, heads * extent('h', {kValue})}, std::nullopt});
  context.SetOutput(1, {type, std::vector<SymInt>{batch, heads, queries, keys}, std::nullopt});
}

}  // namespace attnrun::ops
