// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/axis_rules.h"

#include <utility>

#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

std::optional<size_t> RankOf(const KnownInputs& inputs, int i) {
  if (!inputs.has_input(i) || !inputs.input(i).dims.has_value()) return std::nullopt;
  return inputs.input(i).dims->size();
}

bool AddOperand(int i, absl::Span<const SymInt> dims, absl::Span<const SymInt> to, size_t axis,
                AxisTrack& track) {
  if (dims.size() > to.size()) return false;
  const size_t missing = to.size() - dims.size();
  if (axis < missing) return true;
  const size_t at = axis - missing;
  if (dims[at] == to[axis]) {
    track.inputs[i] = static_cast<int>(at);
  } else if (dims[at].is_constant(1)) {
    track.ones[i] = static_cast<int>(at);
  } else {
    return false;
  }
  return true;
}

bool AddOperand(const KnownInputs& inputs, int i, absl::Span<const SymInt> to, size_t axis,
                AxisTrack& track) {
  if (!inputs.has_input(i)) return true;
  const std::optional<Dims>& dims = inputs.input(i).dims;
  return dims.has_value() && AddOperand(i, *dims, to, axis, track);
}

void AddElementwiseAxes(AxesContext& context) {
  if (!context.has_output(0) || !context.output(0).dims.has_value()) return;
  const Dims& to = *context.output(0).dims;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    AxisTrack track = context.Track({}, {{0, axis}});
    bool plain = true;
    for (int i = 0; i < context.num_inputs(); ++i) {
      plain = plain && AddOperand(context, i, to, axis, track);
    }
    if (plain) context.Add(std::move(track));
  }
}

void AddSameAxes(AxesContext& context, absl::FunctionRef<bool(size_t axis)> passes) {
  const size_t rank = RankOf(context, 0).value_or(0);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (!passes(axis)) continue;
    AxisTrack track = context.Track({{0, axis}}, {});
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (context.has_output(i)) track.outputs[i] = static_cast<int>(axis);
    }
    context.Add(std::move(track));
  }
}

void AddOtherAxes(AxesContext& context, int64_t axis) {
  const std::optional<size_t> known = KnownAxis(axis, RankOf(context, 0).value_or(0));
  if (!known.has_value()) return;
  AddSameAxes(context, [&](size_t other) { return other != *known; });
}

void AddLeadingAxes(AxesContext& context, size_t count) {
  const size_t rank = RankOf(context, 0).value_or(0);
  AddSameAxes(context, [&](size_t axis) { return axis + count < rank; });
}

void AddRemainingAxes(AxesContext& context, const std::vector<bool>& dropped) {
  size_t at = 0;
  for (size_t axis = 0; axis < dropped.size(); ++axis) {
    if (!dropped[axis]) context.Add({{0, axis}}, {{0, at++}});
  }
}

void AddWholeAxes(AxesContext& context) {
  if (!RankOf(context, 0).has_value() || !context.output(0).dims.has_value()) return;
  const Dims& from = *context.input(0).dims;
  const Dims& to = *context.output(0).dims;
  // An axis stays if axes of the same extent have equally many elements before them. Both products
  // grow from axis to axis, so the next match is after the last one.
  SymInt before_to(1);
  SymInt before_next(1);
  size_t next = 0;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    SymInt before = before_next;
    for (size_t i = next; i < from.size(); ++i) {
      const bool same = before == before_to && from[i] == to[axis];
      before = before * from[i];
      if (!same) continue;
      context.Add({{0, i}}, {{0, axis}});
      next = i + 1;
      before_next = before;
      break;
    }
    before_to = before_to * to[axis];
  }
}

}  // namespace attnrun::ops
