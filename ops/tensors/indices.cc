// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/indices.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {

absl::Status IndexOutside(int64_t index, int axis, const Tensor& data) {
  return absl::InvalidArgumentError(absl::StrCat("index ", index, " is outside [", -data.dim(axis),
                                                 ",", data.dim(axis) - 1, "] along axis ", axis,
                                                 " of data ", TypeAndShape(data)));
}

absl::Status CheckIndexType(const Tensor& indices) {
  if (indices.type() == DataType::kInt64 || indices.type() == DataType::kInt32) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("indices must be int32 or int64, but are ", TypeAndShape(indices)));
}

namespace {

// True if any of `count` indices is outside. Checks many at a time without a branch, so that the
// compiler vectorizes the loop.
template <typename Index>
bool AnyOutside(const Index* indices, int64_t count, int64_t extent) {
  constexpr int64_t kAtOnce = 1024;
  for (int64_t first = 0; first < count; first += kAtOnce) {
    bool wrong = false;
    for (int64_t i = first; i < std::min(first + kAtOnce, count); ++i) {
      wrong |= indices[i] < -extent || indices[i] >= extent;
    }
    if (wrong) return true;
  }
  return false;
}

// The offsets [first, last] that the elements of a view lie within. Rows of the view may overlap or
// repeat.
std::pair<int64_t, int64_t> Reach(const Tensor& view) {
  std::pair<int64_t, int64_t> reach = {0, 0};
  for (int axis = 0; axis < view.rank(); ++axis) {
    const int64_t end = (view.dim(axis) - 1) * view.strides()[axis];
    (end < 0 ? reach.first : reach.second) += end;
  }
  return reach;
}

}  // namespace

absl::Status CheckIndices(const Tensor& indices, int axis, const Tensor& data) {
  ATTNRUN_RETURN_IF_ERROR(CheckIndexType(indices));
  const int64_t extent = data.dim(axis);
  return WithIndices(indices, [&](const auto* values) -> absl::Status {
    const int64_t count = indices.num_elements();
    if (!AnyOutside(values, count, extent)) return absl::OkStatus();
    const auto outside = [&](int64_t index) { return index < -extent || index >= extent; };
    return IndexOutside(*std::find_if(values, values + count, outside), axis, data);
  });
}

absl::Status CheckStridedIndices(const Tensor& indices, int axis, const Tensor& data) {
  if (indices.is_dense()) return CheckIndices(indices, axis, data);
  ATTNRUN_RETURN_IF_ERROR(CheckIndexType(indices));
  if (indices.num_elements() == 0) return absl::OkStatus();
  const int64_t extent = data.dim(axis);
  return WithIndices(indices, [&](const auto* values) {
    const auto [first, last] = Reach(indices);
    const int64_t count = last - first + 1;
    absl::Status status;
    // The memory in between holds no more elements than the view: checks all of it at once.
    if (count <= indices.num_elements() && !AnyOutside(values + first, count, extent)) {
      return status;
    }
    ForEachOffset(indices.shape(), indices.strides(), [&](int64_t offset) {
      const int64_t index = values[offset];
      if (index >= -extent && index < extent) return;
      if (status.ok()) status = IndexOutside(index, axis, data);
    });
    return status;
  });
}

absl::StatusOr<std::vector<int64_t>> ReadIndices(const Tensor& indices, int axis,
                                                 const Tensor& data) {
  ATTNRUN_RETURN_IF_ERROR(CheckIndices(indices, axis, data));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInts(indices));
  for (int64_t& value : values) value = WrapIndex(value, data.dim(axis));
  return values;
}

}  // namespace attnrun::ops
