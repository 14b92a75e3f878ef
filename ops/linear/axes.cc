// SPDX-License-Identifier: Apache-2.0
// Axis rules of the operators of this folder.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/linear/gated_activation.h"
#include "ops/linear/int8_linear.h"
#include "ops/linear/linear.h"
#include "ops/linear/nbit_linear.h"

namespace attnrun::ops {

void AddRowAxes(AxesContext& context) {
  const size_t rank = RankOf(context, Linear::kX).value_or(0);
  if (!context.output(0).dims.has_value()) return;
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    AxisTrack track = context.Track({{Linear::kX, axis}}, {{0, axis}});
    if (AddOperand(context, Linear::kResidual, *context.output(0).dims, axis, track)) {
      context.Add(std::move(track));
    }
  }
}

// A track of the columns exists for a single weight: several share an axis of Y.
void Linear::Axes(AxesContext& context) const {
  AddRowAxes(context);
  if (NumWeights(context.num_inputs()) != 1 || !context.output(0).dims.has_value()) return;
  const Dims& y = *context.output(0).dims;
  if (y.empty()) return;
  const size_t column = is_transposed(0) ? 0 : 1;
  AxisTrack track = context.Track({{kWeight, column}, {kBias, 0}}, {{0, y.size() - 1}});
  if (AddOperand(context, kResidual, y, y.size() - 1, track)) context.Add(std::move(track));
}

void Int8Linear::Axes(AxesContext& context) const { AddRowAxes(context); }

void NBitLinear::Axes(AxesContext& context) const { AddRowAxes(context); }

void GatedActivation::Axes(AxesContext& context) const { AddLeadingAxes(context); }

}  // namespace attnrun::ops
