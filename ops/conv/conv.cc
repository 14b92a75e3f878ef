// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/conv/channels_last_conv.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

absl::Status CheckRanks(const Tensor& x, const Tensor& w) {
  if (x.rank() >= 3 && w.rank() == x.rank()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected X and W of equal rank, at least 3, but X is ", TypeAndShape(x),
                   " and W is ", TypeAndShape(w)));
}

absl::Status Misfit(const Tensor& x, const Tensor& w, int64_t group, absl::string_view x_layout,
                    absl::string_view w_layout) {
  return absl::InvalidArgumentError(absl::StrCat(
      "expected X ", x_layout, " and W ", w_layout, " with C and M multiples of group, but X is ",
      TypeAndShape(x), ", W is ", TypeAndShape(w), " and group is ", group));
}

// `x`: [N, C, ..]. `spatial`: the spatial extents of the output.
absl::StatusOr<ConvShape> MakeShape(const SlidingWindow& window, const Shape& x, int64_t m,
                                    int64_t group, const Shape& spatial, const Tensor* bias) {
  if (bias != nullptr && (bias->rank() != 1 || bias->dim(0) != m)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a bias of shape [", m, "], but found ", TypeAndShape(*bias)));
  }
  ConvShape shape;
  shape.window = window;
  shape.n = x[0];
  shape.c = x[1];
  shape.m = m;
  shape.group = group;
  shape.output = {shape.n, m};
  shape.output.insert(shape.output.end(), spatial.begin(), spatial.end());
  ATTNRUN_RETURN_IF_ERROR(NumElements(shape.output).status());
  ATTNRUN_ASSIGN_OR_RETURN(shape.input_size, NumElements(absl::MakeSpan(x).subspan(2)));
  ATTNRUN_ASSIGN_OR_RETURN(shape.kernel_size, NumElements(window.kernel));
  ATTNRUN_ASSIGN_OR_RETURN(shape.output_size, NumElements(spatial));
  return shape;
}

}  // namespace

ConvAttributes ConvAttributes::Read(AttributeReader& attributes) {
  return {.window = WindowAttributes::Read(attributes, /*has_dilations=*/true,
                                           /*has_ceil_mode=*/false),
          .group = attributes.Int("group", 1)};
}

absl::StatusOr<ConvShape> ResolveConv(const ConvAttributes& attributes, const Tensor& x,
                                      const Tensor& w, const Tensor* bias, ImageAxes axes) {
  ATTNRUN_RETURN_IF_ERROR(CheckRanks(x, w));
  const int64_t group = attributes.group;
  Shape extents = x.shape();
  const bool last = axes == ImageAxes::kChannelsLast;
  if (last) std::rotate(extents.begin() + 1, extents.end() - 1, extents.end());
  if (group < 1 || w.dim(0) % group != 0 || extents[1] % group != 0 ||
      extents[1] / group != w.dim(1)) {
    return Misfit(x, w, group, last ? "[N, .., C]" : "[N, C, ..]", "[M, C/group, ..]");
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      const SlidingWindow window,
      ResolveWindow(attributes.window, extents, absl::MakeSpan(w.shape()).subspan(2)));
  return MakeShape(window, extents, w.dim(0), group, window.output, bias);
}

ConvTranspose::ConvTranspose(AttributeReader& attributes)
    : attributes_(ConvAttributes::Read(attributes)),
      output_padding_(attributes.Ints("output_padding")),
      output_shape_(attributes.Ints("output_shape")) {}

absl::StatusOr<ConvShape> ConvTranspose::Resolve(const Tensor& x, const Tensor& w,
                                                 const Tensor* bias) const {
  ATTNRUN_RETURN_IF_ERROR(CheckRanks(x, w));
  const int64_t group = attributes_.group;
  constexpr int64_t kLargestGroup = int64_t{1} << 30;
  if (group < 1 || group > kLargestGroup || w.dim(1) > kLargestGroup || x.dim(1) != w.dim(0) ||
      x.dim(1) % group != 0) {
    return Misfit(x, w, group, "[N, C, ..]", "[C, M/group, ..]");
  }
  ATTNRUN_ASSIGN_OR_RETURN(SlidingWindow window, CheckWindow(attributes_.window, x.shape(),
                                                             absl::MakeSpan(w.shape()).subspan(2)));
  window.output = window.input;
  ATTNRUN_RETURN_IF_ERROR(ResolveOutput(window));
  return MakeShape(window, x.shape(), w.dim(1) * group, group, window.input, bias);
}

absl::Status ConvTranspose::ResolveOutput(SlidingWindow& window) const {
  const size_t axes = window.output.size();
  const std::string& auto_pad = attributes_.window.auto_pad;
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  ATTNRUN_ASSIGN_OR_RETURN(const Shape padding,
                           WindowValues("output_padding", output_padding_, axes, 0, 0));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape wanted,
                           WindowValues("output_shape", output_shape_, axes, 0, 0));
  for (size_t axis = 0; axis < axes; ++axis) {
    // The extent of y before padding is cut off.
    const int64_t full =
        window.strides[axis] * (window.output[axis] - 1) + padding[axis] + window.reach(axis);
    int64_t& begin = window.pads_begin[axis];
    int64_t& end = window.pads_end[axis];
    if (auto_pad == "VALID") begin = end = 0;
    int64_t extent = full - begin - end;
    if (same) extent = window.output[axis] * window.strides[axis];
    if (!output_shape_.empty()) extent = wanted[axis];
    if (same || !output_shape_.empty()) {
      const int64_t total = std::max<int64_t>(full - extent, 0);
      begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    if (extent < 0) {
      return absl::InvalidArgumentError(absl::StrCat("expected pads of at most ", full,
                                                     " elements along spatial axis ", axis,
                                                     ", but found ", begin, " and ", end));
    }
    window.input[axis] = extent;
  }
  return absl::OkStatus();
}

void RegisterConv(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "Conv",
                     .since = {1, 11, 22},
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .make = Make<Conv>,
                     .traits = kMultiplies});
  registry.Register({.domain = "",
                     .name = "ConvInteger",
                     .since = {10},
                     .inputs = {2, 4},
                     .outputs = {1, 1},
                     .make = Make<ConvInteger>,
                     .traits = kMultiplies});
  registry.Register({.domain = "",
                     .name = "ConvTranspose",
                     .since = {1, 11, 22},
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .make = Make<ConvTranspose>,
                     .traits = kMultiplies});
  registry.Register({.domain = "attnrun",
                     .name = "Conv",
                     .since = {1},
                     .inputs = {2, 4},
                     .outputs = {1, 1},
                     .make = Make<ChannelsLastConv>,
                     .traits = kMultiplies});
}

}  // namespace attnrun::ops
