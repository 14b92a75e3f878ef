// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/axes_context.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"

namespace attnrun::ops {
namespace {

// The extent of a track, as far as it is a known number.
class TrackExtent {
 public:
  // False if the value has no such axis, or one of another extent.
  bool Admits(const ValueFacts& facts, int axis) {
    if (axis == AxisTrack::kNone || !facts.dims.has_value()) return true;
    if (axis >= static_cast<int>(facts.dims->size())) return false;
    const std::optional<int64_t> extent = (*facts.dims)[axis].constant();
    if (!extent.has_value()) return true;
    if (!known_.has_value()) known_ = extent;
    return known_ == extent;
  }

 private:
  std::optional<int64_t> known_;
};

bool HasAxis(absl::Span<const int> axes) {
  return absl::c_any_of(axes, [](int axis) { return axis != AxisTrack::kNone; });
}

}  // namespace

AxisTrack AxesContext::Track(std::initializer_list<Slot> inputs,
                             std::initializer_list<Slot> outputs) const {
  AxisTrack track;
  track.inputs.resize(num_inputs(), AxisTrack::kNone);
  track.ones.resize(num_inputs(), AxisTrack::kNone);
  track.outputs.resize(num_outputs(), AxisTrack::kNone);
  for (const auto& [place, axis] : inputs) {
    if (place >= 0 && has_input(place)) track.inputs[place] = static_cast<int>(axis);
  }
  for (const auto& [place, axis] : outputs) {
    if (place >= 0 && has_output(place)) track.outputs[place] = static_cast<int>(axis);
  }
  return track;
}

void AxesContext::Add(AxisTrack track) {
  if (MayHold(track)) rule_.tracks.push_back(std::move(track));
}

void AxesContext::AddPlaced(AxisTrack track) {
  if (MayHold(track)) rule_.placed.push_back(std::move(track));
}

bool AxesContext::MayHold(const AxisTrack& track) const {
  if (!HasAxis(track.inputs) || !HasAxis(track.outputs)) return false;
  TrackExtent extent;
  for (int i = 0; i < num_inputs(); ++i) {
    if (has_input(i) && !extent.Admits(input(i), track.inputs[i])) return false;
  }
  for (int i = 0; i < num_outputs(); ++i) {
    if (has_output(i) && !extent.Admits(output(i), track.outputs[i])) return false;
  }
  return true;
}

}  // namespace attnrun::ops
