// SPDX-License-Identifier: Apache-2.0
// Inference of types and shapes for the operators of this folder.
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/softmax/softmax.h"

namespace attnrun::ops {

void Softmax::Infer(InferContext& context) const { InferLikeInput(context); }

void Hardmax::Infer(InferContext& context) const { InferLikeInput(context); }

void SoftmaxAxis::AddAxes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  if (!flatten_) return AddOtherAxes(context, axis_);
  const bool behind = axis_ == static_cast<int64_t>(rank);
  const size_t first = behind ? rank : KnownAxis(axis_, rank).value_or(0);
  AddSameAxes(context, [&](size_t axis) { return axis < first; });
}

void Softmax::Axes(AxesContext& context) const { axis_.AddAxes(context); }

void Hardmax::Axes(AxesContext& context) const { axis_.AddAxes(context); }

}  // namespace attnrun::ops
