// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/axes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace attnrun::ops {
namespace {

void Append(absl::Span<const int> axes, const char* after, std::string& text) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == AxisTrack::kNone) continue;
    absl::StrAppend(&text, text.empty() ? "" : " ", i, ".", axes[i], after);
  }
}

}  // namespace

std::string AxisTrack::ToString() const {
  std::string text;
  Append(inputs, "", text);
  Append(ones, "=1", text);
  text += " >";
  Append(outputs, "", text);
  return text;
}

namespace {

const AxisTrack* Find(const std::vector<AxisTrack>& tracks, int output, int axis) {
  const auto found = absl::c_find_if(
      tracks, [&](const AxisTrack& track) { return track.outputs[output] == axis; });
  return found == tracks.end() ? nullptr : &*found;
}

}  // namespace

const AxisTrack* AxisRule::OfInput(int input, int axis) const {
  for (const AxisTrack& track : tracks) {
    if (track.inputs[input] == axis) return &track;
  }
  return nullptr;
}

const AxisTrack* AxisRule::OfOutput(int output, int axis) const {
  return Find(tracks, output, axis);
}

const AxisTrack* AxisRule::PlacedOfOutput(int output, int axis) const {
  return Find(placed, output, axis);
}

}  // namespace attnrun::ops
