// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/expand.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {

absl::StatusOr<Window> Expand::MakeWindow(const OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape wanted, ReadInts(context.input(1), "shape"));
  for (const int64_t extent : wanted) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ToString(wanted), " has a negative extent"));
    }
  }
  Window window;
  ATTNRUN_ASSIGN_OR_RETURN(window.shape, BroadcastShapes(data.shape(), wanted));
  window.extents = window.shape;
  window.strides.assign(window.shape.size(), 0);
  const Shape strides = StridesOf(data);
  const size_t added = window.shape.size() - strides.size();
  for (size_t i = 0; i < strides.size(); ++i) {
    if (data.shape()[i] != 1) window.strides[added + i] = strides[i];
  }
  return window;
}

absl::StatusOr<Window> Tile::MakeWindow(const OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape repeats, ReadInts(context.input(1), "repeats"));
  if (repeats.size() != data.shape().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "repeats ", ToString(repeats), " must have one number per axis of ", TypeAndShape(data)));
  }
  const Shape strides = StridesOf(data);
  Window window;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t extent = data.shape()[i];
    if (repeats[i] < 0 ||
        (extent > 0 && repeats[i] > std::numeric_limits<int64_t>::max() / extent)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot repeat axis ", i, " of ", TypeAndShape(data), " ", repeats[i], " times"));
    }
    window.shape.push_back(repeats[i] * extent);
    window.extents.insert(window.extents.end(), {repeats[i], extent});
    window.strides.insert(window.strides.end(), {0, strides[i]});
  }
  return window;
}

}  // namespace attnrun::ops
