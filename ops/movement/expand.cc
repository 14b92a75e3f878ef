// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/expand.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {

absl::StatusOr<StridedView> Expand::MakeView(const OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape wanted, ReadInts(context.input(1), "shape"));
  for (const int64_t extent : wanted) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ToString(wanted), " has a negative extent"));
    }
  }
  StridedView view;
  ATTNRUN_ASSIGN_OR_RETURN(view.shape, BroadcastShapes(data.shape(), wanted));
  view.extents = view.shape;
  view.strides.assign(view.shape.size(), 0);
  const Shape strides = StridesOf(data);
  const size_t added = view.shape.size() - strides.size();
  for (size_t i = 0; i < strides.size(); ++i) {
    if (data.shape()[i] != 1) view.strides[added + i] = strides[i];
  }
  return view;
}

absl::StatusOr<StridedView> Tile::MakeView(const OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape repeats, ReadInts(context.input(1), "repeats"));
  if (repeats.size() != data.shape().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "repeats ", ToString(repeats), " must have one number per axis of ", TypeAndShape(data)));
  }
  const Shape strides = StridesOf(data);
  StridedView view;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t extent = data.shape()[i];
    if (repeats[i] < 0 ||
        (extent > 0 && repeats[i] > std::numeric_limits<int64_t>::max() / extent)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot repeat axis ", i, " of ", TypeAndShape(data), " ", repeats[i], " times"));
    }
    view.shape.push_back(repeats[i] * extent);
    view.extents.insert(view.extents.end(), {repeats[i], extent});
    view.strides.insert(view.strides.end(), {0, strides[i]});
  }
  return view;
}

}  // namespace attnrun::ops
