// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/sliding_window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/div_ceil.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

// Far beyond any tensor, small enough that no product or sum of a few overflows.
constexpr int64_t kLargest = int64_t{1} << 30;

absl::Status Wrong(absl::string_view name, const std::vector<int64_t>& values,
                   absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", name, " to hold ", expected,
                                                 ", but found [", absl::StrJoin(values, ","), "]"));
}

// Sets the output extent and pads of one axis under SAME_UPPER or SAME_LOWER.
void PadToSame(SlidingWindow& window, size_t axis, bool upper) {
  const int64_t stride = window.strides[axis];
  window.output[axis] = DivCeil(window.input[axis], stride);
  const int64_t total = std::max<int64_t>(
      (window.output[axis] - 1) * stride + window.reach(axis) - window.input[axis], 0);
  window.pads_begin[axis] = upper ? total / 2 : total - total / 2;
  window.pads_end[axis] = total - window.pads_begin[axis];
}

// Sets the output extent of one axis whose pads are known.
absl::Status FitOutput(SlidingWindow& window, size_t axis, bool ceil_mode) {
  const int64_t stride = window.strides[axis];
  const int64_t padded = window.input[axis] + window.pads_begin[axis] + window.pads_end[axis];
  const int64_t room = padded - window.reach(axis);
  if (room < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a kernel that reaches over ", window.reach(axis),
                     " elements does not fit spatial axis ", axis, " of ", window.input[axis],
                     " elements and padding of ", padded - window.input[axis]));
  }
  window.output[axis] = (ceil_mode ? DivCeil(room, stride) : room / stride) + 1;
  // Windows that would start in the padding at the end do not count.
  const int64_t end = window.input[axis] + window.pads_begin[axis];
  if (ceil_mode && (window.output[axis] - 1) * stride >= end) --window.output[axis];
  if (window.output[axis] > kLargest) {
    return absl::InvalidArgumentError(
        absl::StrCat("spatial axis ", axis, " of ", window.input[axis], " elements and padding of ",
                     padded - window.input[axis], " makes an output extent beyond ", kLargest));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> WindowValues(absl::string_view name, const std::vector<int64_t>& values,
                                   size_t count, int64_t least, int64_t otherwise) {
  if (values.empty()) return Shape(count, otherwise);
  if (values.size() != count) return Wrong(name, values, absl::StrCat(count, " numbers"));
  for (const int64_t value : values) {
    if (value >= least && value <= kLargest) continue;
    return Wrong(name, values, absl::StrCat("numbers from ", least, " to ", kLargest));
  }
  return Shape(values.begin(), values.end());
}

WindowAttributes WindowAttributes::Read(AttributeReader& attributes, bool has_dilations,
                                        bool has_ceil_mode) {
  WindowAttributes result;
  result.auto_pad =
      attributes.OneOf("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  result.kernel_shape = attributes.Ints("kernel_shape");
  result.strides = attributes.Ints("strides");
  result.pads = attributes.Ints("pads");
  if (has_dilations) result.dilations = attributes.Ints("dilations");
  if (has_ceil_mode) result.ceil_mode = attributes.Int("ceil_mode", 0) != 0;
  return result;
}

IndexRange SlidingWindow::TapsInside(size_t axis, int64_t position) const {
  const int64_t start = coordinate(axis, position, 0);
  const int64_t dilation = dilations[axis];
  return {.begin = start < 0 ? DivCeil(-start, dilation) : 0,
          .end = start < input[axis]
                     ? std::min(kernel[axis], DivCeil(input[axis] - start, dilation))
                     : 0};
}

std::optional<int64_t> SlidingWindow::LineOffset(absl::Span<const int64_t> position,
                                                 int64_t tap) const {
  const size_t last = input.size() - 1;
  int64_t offset = 0;
  int64_t step = input[last];
  for (size_t axis = last; axis-- > 0;) {
    const int64_t at = coordinate(axis, position[axis], tap % kernel[axis]);
    if (at < 0 || at >= input[axis]) return std::nullopt;
    tap /= kernel[axis];
    offset += at * step;
    step *= input[axis];
  }
  return offset;
}

IndexRange PositionsInside(int64_t start, int64_t stride, int64_t length, int64_t extent,
                           int64_t count) {
  const int64_t begin = start < 0 ? std::min(count, DivCeil(-start, stride)) : 0;
  const int64_t room = extent - length - start;
  return {.begin = begin, .end = room < 0 ? begin : std::clamp(room / stride + 1, begin, count)};
}

absl::StatusOr<SlidingWindow> CheckWindow(const WindowAttributes& attributes,
                                          absl::Span<const int64_t> input,
                                          absl::Span<const int64_t> kernel) {
  if (input.size() < 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected an input [N, C, ..] with a spatial axis, but found ", ToString(input)));
  }
  const size_t axes = input.size() - 2;
  SlidingWindow window;
  window.input.assign(input.begin() + 2, input.end());
  if (*std::max_element(input.begin(), input.end()) > kLargest) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", ToString(input), " has an extent beyond ", kLargest));
  }
  const std::vector<int64_t> extents(kernel.begin(), kernel.end());
  if (extents.empty()) return Wrong("kernel_shape", extents, absl::StrCat(axes, " numbers"));
  ATTNRUN_ASSIGN_OR_RETURN(window.kernel, WindowValues("the kernel's shape", extents, axes, 1, 1));
  ATTNRUN_RETURN_IF_ERROR(NumElements(window.kernel).status());
  if (!attributes.kernel_shape.empty() && attributes.kernel_shape != extents) {
    return Wrong("kernel_shape", attributes.kernel_shape, ToString(kernel));
  }
  ATTNRUN_ASSIGN_OR_RETURN(window.strides, WindowValues("strides", attributes.strides, axes, 1, 1));
  ATTNRUN_ASSIGN_OR_RETURN(window.dilations,
                           WindowValues("dilations", attributes.dilations, axes, 1, 1));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape pads, WindowValues("pads", attributes.pads, 2 * axes, 0, 0));
  window.pads_begin.assign(pads.begin(), pads.begin() + axes);
  window.pads_end.assign(pads.begin() + axes, pads.end());
  window.output.assign(axes, 0);
  return window;
}

absl::StatusOr<SlidingWindow> ResolveWindow(const WindowAttributes& attributes,
                                            absl::Span<const int64_t> input,
                                            absl::Span<const int64_t> kernel) {
  ATTNRUN_ASSIGN_OR_RETURN(SlidingWindow window, CheckWindow(attributes, input, kernel));
  if (attributes.auto_pad != "NOTSET") {
    window.pads_begin.assign(window.input.size(), 0);
    window.pads_end = window.pads_begin;
  }
  const bool upper = attributes.auto_pad == "SAME_UPPER";
  // With VALID only windows that lie inside the input count.
  const bool ceil_mode = attributes.ceil_mode && attributes.auto_pad == "NOTSET";
  for (size_t axis = 0; axis < window.input.size(); ++axis) {
    if (upper || attributes.auto_pad == "SAME_LOWER") {
      PadToSame(window, axis, upper);
    } else {
      ATTNRUN_RETURN_IF_ERROR(FitOutput(window, axis, ceil_mode));
    }
  }
  return window;
}

}  // namespace attnrun::ops
