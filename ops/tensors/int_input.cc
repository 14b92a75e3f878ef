// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/int_input.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

bool HoldsIndices(const Tensor& tensor) {
  return tensor.type() == DataType::kInt64 || tensor.type() == DataType::kInt32;
}

template <typename T>
Shape Elements(const T* data, int64_t count, int64_t stride) {
  Shape elements(count);
  for (int64_t i = 0; i < count; ++i) elements[i] = data[i * stride];
  return elements;
}

}  // namespace

absl::StatusOr<Shape> ReadInts(const Tensor& tensor, absl::string_view what) {
  if (!HoldsIndices(tensor) || tensor.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a list of int64 or int32, but is ", TypeAndShape(tensor)));
  }
  constexpr int64_t kLongest = 4096;
  if (tensor.num_elements() > kLongest) {
    return absl::UnimplementedError(absl::StrCat(what, " has ", tensor.num_elements(),
                                                 " elements; at most ", kLongest, " are covered"));
  }
  const int64_t stride = tensor.is_dense() || tensor.rank() == 0 ? 1 : tensor.strides()[0];
  return tensor.type() == DataType::kInt64
             ? Elements(tensor.data<int64_t>(), tensor.num_elements(), stride)
             : Elements(tensor.data<int32_t>(), tensor.num_elements(), stride);
}

absl::StatusOr<int64_t> ReadInt(const Tensor& tensor, absl::string_view what) {
  if (!HoldsIndices(tensor) || tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be one int64 or int32, but is ", TypeAndShape(tensor)));
  }
  return tensor.type() == DataType::kInt64 ? *tensor.data<int64_t>() : *tensor.data<int32_t>();
}

absl::Status NormalizeAxes(Shape& axes, int rank) {
  absl::InlinedVector<bool, 8> seen(rank, false);
  for (int64_t& axis : axes) {
    ATTNRUN_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
    if (seen[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is named twice"));
    }
    seen[axis] = true;
  }
  return absl::OkStatus();
}

Shape FirstAxes(int64_t count) {
  Shape axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace attnrun::ops
