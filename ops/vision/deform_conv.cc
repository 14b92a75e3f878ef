// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/deform_conv.h"
#include "ops/interface/optional_input.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/conv/infer.h"
#include "ops/interface/infer_rules.h"
#include "ops/vision/col2im.h"

namespace attnrun::ops {
namespace {

// The element of an image at a place between elements, interpolated linearly along each axis. Those
// outside are 0.
double Interpolate(const double* image, absl::Span<const int64_t> extents,
                   absl::Span<const double> place, size_t axis = 0, int64_t offset = 0) {
  if (axis == extents.size()) return image[offset];
  const double below = std::floor(place[axis]);
  const double t = place[axis] - below;
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    const double at = below + i;
    const double weight = i == 0 ? 1 - t : t;
    if (!(at >= 0 && at < static_cast<double>(extents[axis])) || weight == 0) continue;
    sum += weight * Interpolate(image, extents, place, axis + 1,
                                offset * extents[axis] + static_cast<int64_t>(at));
  }
  return sum;
}

// The tensors of one call.
struct Call {
  SlidingWindow window;
  std::vector<double> x;
  std::vector<double> w;
  std::vector<double> offset;
  // Empty: ones.
  std::vector<double> mask;
  int64_t channels;
  int64_t image_size;
  int64_t taps;
  int64_t positions;
  int64_t offset_group;

  // Tap `tap` of channel `channel` of sample n at `position`, which is number p of all.
  double Read(int64_t n, int64_t channel, int64_t tap, const Shape& position, int64_t p) const {
    const size_t axes = window.input.size();
    const int64_t group = channel / (channels / offset_group);
    const int64_t shared = (n * offset_group + group) * taps + tap;
    const Shape strides = DenseStrides(window.kernel);
    std::vector<double> place;
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t at = tap / strides[axis] % window.kernel[axis];
      const auto moved = static_cast<int64_t>(axes) * shared + static_cast<int64_t>(axis);
      place.push_back(static_cast<double>(window.coordinate(axis, position[axis], at)) +
                      offset[moved * positions + p]);
    }
    const double value =
        Interpolate(x.data() + (n * channels + channel) * image_size, window.input, place);
    return mask.empty() ? value : value * mask[shared * positions + p];
  }
};

absl::Status CheckShape(absl::string_view name, const Tensor& tensor, const Shape& expected) {
  if (tensor.shape() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", name, " of shape ", ToString(expected), ", but found ", TypeAndShape(tensor)));
}

Shape Joined(std::initializer_list<int64_t> front, const Shape& rest) {
  Shape shape = front;
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

}  // namespace

DeformConv::DeformConv(AttributeReader& attributes)
    : window_(ReadUnpaddedWindow(attributes)),
      group_(attributes.Int("group", 1)),
      offset_group_(attributes.Int("offset_group", 1)) {
  window_.kernel_shape = attributes.Ints("kernel_shape");
}

absl::StatusOr<SlidingWindow> DeformConv::CheckInputs(const OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  const bool ranks = x.rank() >= 3 && x.rank() <= 5 && w.rank() == x.rank();
  if (!ranks || group_ < 1 || offset_group_ < 1 || x.dim(1) % group_ != 0 ||
      x.dim(1) % offset_group_ != 0 || w.dim(1) != x.dim(1) / group_ || w.dim(0) % group_ != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected x [N,C,..] and w [M,C/group,..] of 1 to 3 axes, but found ", TypeAndShape(x),
        " and ", TypeAndShape(w), " with group ", group_, " and offset_group ", offset_group_));
  }
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.has_input(i) && !IsFloatingPoint(context.input(i).type())) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected floats, but input ", i, " is ", TypeAndShape(context.input(i))));
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(SlidingWindow window,
                           ResolveWindow(window_, x.shape(), absl::MakeSpan(w.shape()).subspan(2)));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t taps, NumElements(window.kernel));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t groups, NumElements({offset_group_, taps}));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t moved, NumElements({groups, x.rank() - 2}));
  ATTNRUN_RETURN_IF_ERROR(
      CheckShape("offset", context.input(2), Joined({x.dim(0), moved}, window.output)));
  if (context.has_input(3)) {
    ATTNRUN_RETURN_IF_ERROR(CheckShape("bias", context.input(3), {w.dim(0)}));
  }
  if (context.has_input(4)) {
    ATTNRUN_RETURN_IF_ERROR(
        CheckShape("mask", context.input(4), Joined({x.dim(0), groups}, window.output)));
  }
  return window;
}

absl::Status DeformConv::Reference(OpContext& context) const {
  Call call;
  ATTNRUN_ASSIGN_OR_RETURN(call.window, CheckInputs(context));
  const Tensor& x = context.input(0);
  const int64_t features = context.input(1).dim(0);
  const Shape shape = Joined({x.dim(0), features}, call.window.output);
  // The memory limit applies to the output before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(call.x, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(call.w, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(call.offset, ToDoubles(context.input(2)));
  std::vector<double> bias(features);
  if (context.has_input(3)) {
    ATTNRUN_ASSIGN_OR_RETURN(bias, ToDoubles(context.input(3)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(call.mask, OptionalDoubles(context, 4));
  call.channels = x.dim(1);
  call.offset_group = offset_group_;
  ATTNRUN_ASSIGN_OR_RETURN(call.image_size, NumElements(call.window.input));
  ATTNRUN_ASSIGN_OR_RETURN(call.taps, NumElements(call.window.kernel));
  ATTNRUN_ASSIGN_OR_RETURN(call.positions, NumElements(call.window.output));
  const int64_t of_group = call.channels / group_;
  std::vector<double> results;
  for (int64_t i = 0; i < x.dim(0) * features && !Interrupted(); ++i) {
    const int64_t n = i / features;
    const int64_t m = i % features;
    const int64_t first = m / (features / group_) * of_group;
    int64_t p = 0;
    ForEachPosition(call.window, [&](const Shape& position) {
      double sum = bias[m];
      for (int64_t term = 0; term < of_group * call.taps; ++term) {
        const int64_t channel = first + term / call.taps;
        const double read = call.Read(n, channel, term % call.taps, position, p);
        sum += call.w[m * of_group * call.taps + term] * read;
      }
      results.push_back(sum);
      ++p;
    });
  }
  results.resize(y->num_elements());
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(x.type(), shape, results, context.allocator()));
  return absl::OkStatus();
}

void DeformConv::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  const std::optional<Dims>& x = context.input(0).dims;
  const std::optional<Dims>& w = context.input(1).dims;
  if (!x.has_value() || !w.has_value() || x->size() < 3 || w->size() != x->size()) return;
  Dims dims = {(*x)[0], (*w)[0]};
  const Dims spatial = InferWindow(context, window_, *x, Dims(w->begin() + 2, w->end()));
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  SetDims(context, 0, std::move(dims));
}

void DeformConv::Axes(AxesContext& context) const {
  context.Add({{0, 0}, {2, 0}, {4, 0}}, {{0, 0}});
  if (group_ == 1) context.Add({{1, 0}, {3, 0}}, {{0, 1}});
}

}  // namespace attnrun::ops
