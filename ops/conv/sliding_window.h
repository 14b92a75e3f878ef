// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_SLIDING_WINDOW_H_
#define ATTNRUN_OPS_CONV_SLIDING_WINDOW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/tensors/index_range.h"

// The sliding windows that convolutions and pooling share.
namespace attnrun::ops {

// A node's attributes of its windows; an empty vector means the default.
struct WindowAttributes {
  // NOTSET, SAME_UPPER, SAME_LOWER or VALID.
  std::string auto_pad;
  std::vector<int64_t> kernel_shape;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  // Begin of every axis, then end of every axis.
  std::vector<int64_t> pads;
  bool ceil_mode = false;

  // Reads auto_pad, kernel_shape, strides, pads and, where the version has them, dilations and
  // ceil_mode.
  static WindowAttributes Read(AttributeReader& attributes, bool has_dilations, bool has_ceil_mode);
};

// Windows over the spatial axes of one image. All vectors have one entry per spatial axis.
struct SlidingWindow {
  Shape input;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
  Shape output;

  // Extent of the dilated kernel.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  // The input coordinate that kernel coordinate `tap` reads for output `position`; may lie in the
  // padding.
  int64_t coordinate(size_t axis, int64_t position, int64_t tap) const {
    return position * strides[axis] - pads_begin[axis] + tap * dilations[axis];
  }
  // The kernel coordinates that read inside the input.
  IndexRange TapsInside(size_t axis, int64_t position) const;
  // The offset in the input of the line along the last axis that output `position` reads with
  // `tap`, a row-major index over all kernel axes but the last; nullopt if the line lies in the
  // padding.
  std::optional<int64_t> LineOffset(absl::Span<const int64_t> position, int64_t tap) const;
};

// The i in [0, count) for which the `length` elements from start + i * stride on lie inside [0,
// extent).
IndexRange PositionsInside(int64_t start, int64_t stride, int64_t length, int64_t extent,
                           int64_t count);

// Resolves the windows over an input [N, C, ..] with a kernel of these spatial extents, which
// kernel_shape must equal if it is given. kInvalidArgument for attributes of the wrong length,
// extents and steps below 1, negative pads, and kernels larger than the padded input.
absl::StatusOr<SlidingWindow> ResolveWindow(const WindowAttributes& attributes,
                                            absl::Span<const int64_t> input,
                                            absl::Span<const int64_t> kernel);

// The part of ResolveWindow that ConvTranspose shares: all but `output` and, with auto_pad, the
// pads.
absl::StatusOr<SlidingWindow> CheckWindow(const WindowAttributes& attributes,
                                          absl::Span<const int64_t> input,
                                          absl::Span<const int64_t> kernel);

// `values`, or `count` times `otherwise` if it is empty. kInvalidArgument naming the attribute if
// there are not `count` values, or one is below `least` or absurdly large.
absl::StatusOr<Shape> WindowValues(absl::string_view name, const std::vector<int64_t>& values,
                                   size_t count, int64_t least, int64_t otherwise);

// Calls visit(tap, offset) for every kernel element that reads inside the input when the window is
// at `position`: `tap` is a row-major index over the kernel, `offset` over the input.
template <typename Visit>
void ForEachTap(const SlidingWindow& window, absl::Span<const int64_t> position, Visit visit) {
  const size_t axes = window.kernel.size();
  Shape count(axes);
  int64_t tap = 0;
  int64_t offset = 0;
  for (size_t axis = 0; axis < axes; ++axis) {
    const IndexRange range = window.TapsInside(axis, position[axis]);
    if (range.begin >= range.end) return;
    count[axis] = range.end - range.begin;
    tap = tap * window.kernel[axis] + range.begin;
    offset = offset * window.input[axis] + window.coordinate(axis, position[axis], range.begin);
  }
  const Shape tap_strides = DenseStrides(window.kernel);
  const Shape strides = DenseStrides(window.input);
  Shape index(axes, 0);
  while (true) {
    visit(tap, offset);
    int axis = static_cast<int>(axes) - 1;
    for (; axis >= 0; --axis) {
      tap += tap_strides[axis];
      offset += strides[axis] * window.dilations[axis];
      if (++index[axis] < count[axis]) break;
      tap -= tap_strides[axis] * count[axis];
      offset -= strides[axis] * window.dilations[axis] * count[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// Calls visit(position) for every position of the output, row-major.
template <typename Visit>
void ForEachPosition(const SlidingWindow& window, Visit visit) {
  for (const int64_t extent : window.output) {
    if (extent == 0) return;
  }
  Shape position(window.output.size(), 0);
  while (true) {
    visit(position);
    int axis = static_cast<int>(position.size()) - 1;
    for (; axis >= 0 && ++position[axis] == window.output[axis]; --axis) position[axis] = 0;
    if (axis < 0) return;
  }
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_SLIDING_WINDOW_H_
