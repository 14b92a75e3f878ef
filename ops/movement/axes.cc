// SPDX-License-Identifier: Apache-2.0
// Axis rules of operators that move elements.
#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/movement/concat.h"
#include "ops/movement/depth_space.h"
#include "ops/movement/expand.h"
#include "ops/movement/pad.h"
#include "ops/movement/reverse_sequence.h"
#include "ops/movement/slice.h"
#include "ops/movement/split.h"
#include "ops/movement/transpose.h"
#include "ops/movement/trilu.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

std::vector<int64_t> Counted(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

void Transpose::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  Shape perm = perm_.value_or(FirstAxes(static_cast<int64_t>(rank)));
  if (!perm_.has_value()) std::reverse(perm.begin(), perm.end());
  if (perm.size() != rank || !NormalizeAxes(perm, static_cast<int>(rank)).ok()) return;
  for (size_t axis = 0; axis < rank; ++axis) {
    context.Add({{0, static_cast<size_t>(perm[axis])}}, {{0, axis}});
  }
}

void Concat::Axes(AxesContext& context) const {
  std::optional<size_t> rank;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!rank.has_value()) rank = RankOf(context, i);
  }
  const std::optional<size_t> along = KnownAxis(axis_, rank.value_or(0));
  for (size_t axis = 0; along.has_value() && axis < *rank; ++axis) {
    if (axis == *along) continue;
    AxisTrack track = context.Track({}, {{0, axis}});
    std::fill(track.inputs.begin(), track.inputs.end(), static_cast<int>(axis));
    context.Add(std::move(track));
  }
}

void Split::Axes(AxesContext& context) const { AddOtherAxes(context, axis_); }

std::optional<std::vector<int64_t>> Slice::NamedAxes(const KnownInputs& inputs) const {
  if (!from_inputs_) return std::vector(attributes_.axes.begin(), attributes_.axes.end());
  if (inputs.has_input(3)) return KnownInts(inputs, 3);
  const std::optional<size_t> count = KnownLength(inputs, 1);
  return count.has_value() ? std::optional(Counted(*count)) : std::nullopt;
}

// Axes that are not sliced, and axes that are kept whole.
void Slice::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<std::vector<int64_t>> named = NamedAxes(context);
  if (!named.has_value() || !context.output(0).dims.has_value()) return;
  std::optional<std::vector<int64_t>> steps(std::in_place, named->size(), 1);
  if (context.has_input(4)) steps = KnownInts(context, 4);
  std::vector<bool> passes(rank, true);
  for (size_t i = 0; i < named->size(); ++i) {
    const std::optional<size_t> axis = KnownAxis((*named)[i], rank);
    if (!axis.has_value()) return;
    const bool steps_by_one = steps.has_value() && i < steps->size() && (*steps)[i] == 1;
    const bool whole = (*context.input(0).dims)[*axis] == (*context.output(0).dims)[*axis];
    passes[*axis] = passes[*axis] && steps_by_one && whole;
  }
  AddSameAxes(context, [&](size_t axis) { return passes[axis]; });
}

void Expand::Axes(AxesContext& context) const {
  if (!context.output(0).dims.has_value()) return;
  const Dims& to = *context.output(0).dims;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    AxisTrack track = context.Track({}, {{0, axis}});
    if (AddOperand(context, 0, to, axis, track)) context.Add(std::move(track));
  }
}

void Tile::Axes(AxesContext& context) const {
  const std::optional<std::vector<SymInt>>& repeats = context.input(1).contents;
  if (!repeats.has_value() || repeats->size() != RankOf(context, 0)) return;
  AddSameAxes(context, [&](size_t axis) { return (*repeats)[axis].is_constant(1); });
}

void Pad::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  std::optional<std::vector<SymInt>> pads(std::in_place, pads_.begin(), pads_.end());
  if (from_inputs_) pads = context.input(1).contents;
  std::optional<std::vector<int64_t>> axes = Counted(rank);
  if (context.has_input(3)) axes = KnownInts(context, 3);
  if (!axes.has_value() || (pads.has_value() && pads->size() != 2 * axes->size())) return;
  std::vector<bool> passes(rank, true);
  for (size_t i = 0; i < axes->size(); ++i) {
    const std::optional<size_t> axis = KnownAxis((*axes)[i], rank);
    if (!axis.has_value()) return;
    passes[*axis] =
        pads.has_value() && (*pads)[i].is_constant(0) && (*pads)[axes->size() + i].is_constant(0);
  }
  AddSameAxes(context, [&](size_t axis) { return passes[axis]; });
}

void Trilu::Axes(AxesContext& context) const { AddLeadingAxes(context, 2); }

void ReverseSequence::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> batch = KnownAxis(batch_axis_, rank);
  const std::optional<size_t> time = KnownAxis(time_axis_, rank);
  if (!batch.has_value() || !time.has_value()) return;
  context.Add({{0, *batch}, {1, 0}}, {{0, *batch}});
  AddSameAxes(context, [&](size_t axis) { return axis != *batch && axis != *time; });
}

void DepthToSpace::Axes(AxesContext& context) const { context.Add({{0, 0}}, {{0, 0}}); }

void SpaceToDepth::Axes(AxesContext& context) const { context.Add({{0, 0}}, {{0, 0}}); }

}  // namespace attnrun::ops
