// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/slice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

Shape RequiredInts(AttributeReader& attributes, absl::string_view name) {
  const auto values = attributes.Required<std::vector<int64_t>>(name);
  return Shape(values.begin(), values.end());
}

}  // namespace

AxisRange SliceRange(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (extent == 0) return {};
  // No overflow: an extent is not negative.
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  uint64_t distance = 0;
  uint64_t stride = static_cast<uint64_t>(step);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    if (end > start) distance = end - start;
  } else {
    start = std::clamp<int64_t>(start, 0, extent - 1);
    end = std::clamp<int64_t>(end, -1, extent - 1);
    if (start > end) distance = start - end;
    // The magnitude of the step; it exists even for the least int64, which has no negative.
    stride = 0 - stride;
  }
  if (distance == 0) return {};
  const auto count = static_cast<int64_t>((distance - 1) / stride + 1);
  // A step that is not taken could overflow when it is multiplied by the axis's stride.
  return {start, count == 1 ? 1 : step, count};
}

Slice::Slice(AttributeReader& attributes) : from_inputs_(attributes.version() >= 10) {
  attributes.ExpectInputs(from_inputs_ ? 3 : 1, from_inputs_ ? 5 : 1);
  if (from_inputs_) return;
  attributes_.starts = RequiredInts(attributes, "starts");
  attributes_.ends = RequiredInts(attributes, "ends");
  attributes_.axes = attributes.Has("axes") ? RequiredInts(attributes, "axes")
                                            : FirstAxes(attributes_.starts.size());
  attributes_.steps.assign(attributes_.starts.size(), 1);
}

absl::StatusOr<Slice::Ranges> Slice::Read(const OpContext& context) const {
  if (!from_inputs_) return attributes_;
  Ranges ranges;
  ATTNRUN_ASSIGN_OR_RETURN(ranges.starts, ReadInts(context.input(1), "starts"));
  ATTNRUN_ASSIGN_OR_RETURN(ranges.ends, ReadInts(context.input(2), "ends"));
  if (context.has_input(3)) {
    ATTNRUN_ASSIGN_OR_RETURN(ranges.axes, ReadInts(context.input(3), "axes"));
  } else {
    ranges.axes = FirstAxes(ranges.starts.size());
  }
  if (context.has_input(4)) {
    ATTNRUN_ASSIGN_OR_RETURN(ranges.steps, ReadInts(context.input(4), "steps"));
  } else {
    ranges.steps.assign(ranges.starts.size(), 1);
  }
  return ranges;
}

absl::StatusOr<StridedView> Slice::MakeView(const OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(Ranges ranges, Read(context));
  const size_t count = ranges.starts.size();
  if (ranges.ends.size() != count || ranges.axes.size() != count || ranges.steps.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "starts ", ToString(ranges.starts), ", ends ", ToString(ranges.ends), ", axes ",
        ToString(ranges.axes), " and steps ", ToString(ranges.steps), " must be of one length"));
  }
  ATTNRUN_RETURN_IF_ERROR(NormalizeAxes(ranges.axes, data.rank()));
  StridedView view = {data.shape(), {}, StridesOf(data), 0};
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = ranges.axes[i];
    if (ranges.steps[i] == 0) {
      return absl::InvalidArgumentError(absl::StrCat("the step along axis ", axis, " is 0"));
    }
    const AxisRange range =
        SliceRange(view.shape[axis], ranges.starts[i], ranges.ends[i], ranges.steps[i]);
    view.shape[axis] = range.count;
    if (range.count == 0) continue;
    view.offset += range.start * view.strides[axis];
    view.strides[axis] *= range.step;
  }
  view.extents = view.shape;
  return view;
}

}  // namespace attnrun::ops
