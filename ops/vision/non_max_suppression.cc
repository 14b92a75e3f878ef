// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/non_max_suppression.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

absl::StatusOr<std::optional<double>> ReadThreshold(const OpContext& context, int i,
                                                    absl::string_view name) {
  if (!context.has_input(i) || context.input(i).num_elements() == 0) return std::nullopt;
  const Tensor& tensor = context.input(i);
  if (tensor.type() != DataType::kFloat || tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", name, " to be one float, but found ", TypeAndShape(tensor)));
  }
  return *tensor.data<float>();
}

}  // namespace

absl::StatusOr<SuppressionLimits> NonMaxSuppression::ReadLimits(const OpContext& context) {
  const Tensor& boxes = context.input(0);
  const Tensor& scores = context.input(1);
  const bool floats = boxes.type() == DataType::kFloat && scores.type() == DataType::kFloat;
  if (!floats || boxes.rank() != 3 || boxes.dim(2) != 4 || scores.rank() != 3 ||
      scores.dim(0) != boxes.dim(0) || scores.dim(2) != boxes.dim(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected boxes float[B,N,4] and scores float[B,C,N], but found ",
                     TypeAndShape(boxes), " and ", TypeAndShape(scores)));
  }
  SuppressionLimits limits;
  if (context.has_input(2) && context.input(2).num_elements() > 0) {
    ATTNRUN_ASSIGN_OR_RETURN(limits.most_per_class,
                             ReadInt(context.input(2), "max_output_boxes_per_class"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::optional<double> iou,
                           ReadThreshold(context, 3, "iou_threshold"));
  limits.iou = iou.value_or(0);
  if (!(limits.iou >= 0 && limits.iou <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an iou_threshold from 0 to 1, but found ", limits.iou));
  }
  ATTNRUN_ASSIGN_OR_RETURN(limits.score, ReadThreshold(context, 4, "score_threshold"));
  return limits;
}

absl::Status SetSelected(OpContext& context, absl::Span<const Selected> rows) {
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor * y,
      context.AllocateOutput(0, DataType::kInt64, {static_cast<int64_t>(rows.size()), 3}));
  auto* out = y->mutable_data<int64_t>();
  for (const Selected& row : rows) out = std::copy(row.begin(), row.end(), out);
  return absl::OkStatus();
}

void NonMaxSuppression::Infer(InferContext& context) const {
  context.SetOutput(0, {DataType::kInt64, Dims{SymInt::Unknown(), 3}, std::nullopt});
}

}  // namespace attnrun::ops
