// SPDX-License-Identifier: Apache-2.0
// Inference of types and shapes for the normalizations.
#include <utility>

#include "absl/algorithm/container.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/simple_normalization.h"

namespace attnrun::ops {

void LayerNormalization::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  context.SetOutput(0, {context.input(1).type, x, std::nullopt});
  ValueFacts statistics{spec_.stash, x, std::nullopt};
  if (x.has_value()) {
    const std::optional<size_t> axis = KnownAxis(spec_.axis, x->size());
    if (!axis.has_value()) return;
    for (size_t i = *axis; i < x->size(); ++i) (*statistics.dims)[i] = 1;
  }
  if (spec_.mean_output > 0) context.SetOutput(spec_.mean_output, statistics);
  if (spec_.inverse_output > 0) context.SetOutput(spec_.inverse_output, std::move(statistics));
}

void BatchNormalization::Infer(InferContext& context) const {
  InferLikeInput(context);
  if (!training_) return;
  for (int i = 1; i < 3; ++i) {
    const ValueFacts& before = context.input(2 + i);
    context.SetOutput(i, {before.type, before.dims, std::nullopt});
  }
}

void GroupNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

void LpNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

void MeanVarianceNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

void Lrn::Infer(InferContext& context) const { InferLikeInput(context); }

// Tracks of the axes before the normalized ones; scale and bias broadcast to X.
void LayerNormalization::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const size_t first = KnownAxis(spec_.axis, rank).value_or(0);
  for (size_t axis = 0; axis < first; ++axis) {
    AxisTrack track = context.Track({{0, axis}}, {{0, axis}, {1, axis}, {2, axis}});
    const Dims& x = *context.input(0).dims;
    if (AddOperand(context, 1, x, axis, track) && AddOperand(context, 2, x, axis, track)) {
      context.Add(std::move(track));
    }
  }
}

void BatchNormalization::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  if (rank < 2) return;
  if (per_channel_) {
    context.Add({{0, 1}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}, {{0, 1}, {1, 0}, {2, 0}});
  }
  for (size_t axis = 0; axis < rank && !training_; ++axis) {
    if (axis == 0 || (per_channel_ && axis > 1)) context.Add({{0, axis}}, {{0, axis}});
  }
}

void GroupNormalization::Axes(AxesContext& context) const {
  context.Add({{0, 0}}, {{0, 0}});
  if (instance_) context.Add({{0, 1}, {1, 0}, {2, 0}}, {{0, 1}});
}

void LpNormalization::Axes(AxesContext& context) const { AddOtherAxes(context, axis_); }

void MeanVarianceNormalization::Axes(AxesContext& context) const {
  const auto rank = static_cast<int64_t>(RankOf(context, 0).value_or(0));
  AddSameAxes(context, [&](size_t axis) {
    const auto at = static_cast<int64_t>(axis);
    return !absl::c_linear_search(axes_, at) && !absl::c_linear_search(axes_, at - rank);
  });
}

void Lrn::Axes(AxesContext& context) const { AddOtherAxes(context, 1); }

}  // namespace attnrun::ops
