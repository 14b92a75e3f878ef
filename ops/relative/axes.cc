// SPDX-License-Identifier: Apache-2.0
// Axis rules of the operators of this folder.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/relative/relative_positions.h"
#include "ops/relative/relative_scores.h"
#include "ops/relative/relative_to_absolute.h"

namespace attnrun::ops {

void RelativePositions::Axes(AxesContext& context) const {
  if (!context.output(0).dims.has_value()) return;
  const Dims& y = *context.output(0).dims;
  for (size_t axis = 0; axis + 2 < y.size(); ++axis) {
    AxisTrack track = context.Track({}, {{0, axis}});
    const bool plain =
        AddOperand(context, 0, y, axis, track) && AddOperand(context, 1, y, axis, track);
    if (plain) context.Add(std::move(track));
  }
}

void RelativeToAbsolute::Axes(AxesContext& context) const { AddLeadingAxes(context, 2); }

// The leading axes, if all of them share the positions. The indices broadcast.
void RelativeScores::Axes(AxesContext& context) const {
  if (!context.output(0).dims.has_value()) return;
  const Dims& y = *context.output(0).dims;
  for (size_t axis = 0; axis + 2 < y.size(); ++axis) {
    AxisTrack track = context.Track({}, {{0, axis}});
    bool plain = context.num_inputs() == kInputsPerTerm * terms();
    for (int term = 0; plain && term < terms(); ++term) {
      const int x = kInputsPerTerm * term;
      track.inputs[x] = static_cast<int>(axis);
      plain = RankOf(context, x + 1) == 2 && AddOperand(context, x + 2, y, axis, track);
    }
    if (plain) context.Add(std::move(track));
  }
}

}  // namespace attnrun::ops
