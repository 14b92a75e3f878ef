// SPDX-License-Identifier: Apache-2.0
// Axis rules of the operators of this folder.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/linear/gated_activation.h"
#include "ops/linear/linear.h"

namespace attnrun::ops {

void Linear::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, kX).value_or(0);
  if (!context.output(0).dims.has_value()) return;
  const Dims& y = *context.output(0).dims;
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    AxisTrack track = context.Track({{kX, axis}}, {{0, axis}});
    if (AddOperand(context, kResidual, y, axis, track)) context.Add(std::move(track));
  }
  // A track of the columns exists for a single weight: several share an axis of Y.
  if (inputs_.has_scales() || inputs_.NumWeights(context.num_inputs()) != 1 || y.empty()) return;
  AxisTrack track = context.Track({{kWeight, ColumnAxis(0)}, {kBias, 0}}, {{0, y.size() - 1}});
  if (AddOperand(context, kResidual, y, y.size() - 1, track)) context.Add(std::move(track));
}

void GatedActivation::Axes(AxesContext& context) const { AddLeadingAxes(context); }

}  // namespace attnrun::ops
