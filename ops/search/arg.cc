// SPDX-License-Identifier: Apache-2.0
#include "ops/search/arg.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/search/order.h"

namespace attnrun::ops {

ArgOp::ArgOp(AttributeReader& attributes, bool least)
    : least_(least),
      axis_(attributes.Int("axis", 0)),
      keep_dims_(attributes.Int("keepdims", 1) != 0),
      last_(attributes.version() >= 12 && attributes.Int("select_last_index", 0) != 0) {}

absl::StatusOr<Shape> ArgShape(const Tensor& data, int axis, bool keep_dims) {
  if (data.dim(axis) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " of ", TypeAndShape(data), " has no elements to choose from"));
  }
  Shape shape = data.shape();
  if (keep_dims) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + axis);
  }
  return shape;
}

absl::Status ArgOp::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, ArgShape(data, axis, keep_dims_));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> keys, OrderKeys(data));
  constexpr int64_t kNan = std::numeric_limits<int64_t>::max();
  if (least_) {
    // The greatest complement is the least element; NaN stays on top.
    const bool floats = IsFloatingPoint(data.type());
    for (int64_t& key : keys) key = floats && key == kNan ? kNan : ~key;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt64, shape));
  const int64_t step = DenseStrides(data.shape())[axis];
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    const int64_t first = i / step * data.dim(axis) * step + i % step;
    int64_t best = 0;
    for (int64_t j = 1; j < data.dim(axis); ++j) {
      const int64_t key = keys[first + j * step];
      const int64_t best_key = keys[first + best * step];
      if (key > best_key || (last_ && key == best_key)) best = j;
    }
    y->mutable_data<int64_t>()[i] = best;
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
