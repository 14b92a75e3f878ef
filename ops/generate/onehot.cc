// SPDX-License-Identifier: Apache-2.0
#include "ops/generate/onehot.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {
namespace {

// Numbers of any type as integers, truncated.
absl::StatusOr<std::vector<int64_t>> Truncated(const Tensor& tensor) {
  if (IsInteger(tensor.type())) return ToInts(tensor);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor ints,
                           FromDoubles(DataType::kInt64, tensor.shape(), values));
  return ToInts(ints);
}

}  // namespace

absl::Status OneHot::Reference(OpContext& context) const {
  const Tensor& values = context.input(2);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, Truncated(context.input(0)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> depths, Truncated(context.input(1)));
  if (depths.size() != 1 || values.num_elements() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("depth must be one number and values two, but they are ",
                     TypeAndShape(context.input(1)), " and ", TypeAndShape(values)));
  }
  const int64_t depth = depths[0];
  Shape shape = context.input(0).shape();
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, context.input(0).rank() + 1));
  shape.insert(shape.begin() + axis, depth);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, values.type(), shape));
  const int64_t inner = DenseStrides(shape)[axis];
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    const int64_t index = indices[i / inner / depth * inner + i % inner];
    const int64_t position = i / inner % depth;
    CopyElement(values, position == index || position - depth == index ? 1 : 0, *y, i);
  }
  return absl::OkStatus();
}

absl::Status EyeLike::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  if (x.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input must be a matrix, but is ", TypeAndShape(x)));
  }
  const DataType type = type_ == DataType::kUndefined ? x.type() : type_;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor one, FromInts(type, {1}, {1}));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, type, x.shape()));
  const int64_t k = std::clamp(k_, -x.dim(0), x.dim(1));
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const int64_t column = row + k;
    if (column >= 0 && column < x.dim(1)) CopyElement(one, 0, *y, row * x.dim(1) + column);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
