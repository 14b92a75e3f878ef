// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/gather/elements.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

// The element of the data that each index names, in the order of the indices.
absl::StatusOr<std::vector<int64_t>> Addresses(const Tensor& data, const Tensor& indices,
                                               int axis) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> addresses, ReadIndices(indices, axis, data));
  Shape strides = DenseStrides(data.shape());
  const int64_t axis_stride = strides[axis];
  strides[axis] = 0;
  size_t i = 0;
  ForEachOffset(indices.shape(), strides, [&](int64_t offset) {
    addresses[i] = offset + addresses[i] * axis_stride;
    ++i;
  });
  return addresses;
}

}  // namespace

absl::Status CheckElementIndices(const Tensor& data, const Tensor& indices, int axis) {
  bool fits = indices.rank() == data.rank();
  for (int i = 0; fits && i < data.rank(); ++i) {
    fits = i == axis || indices.dim(i) <= data.dim(i);
  }
  if (fits) return CheckIndices(indices, axis, data);
  return absl::InvalidArgumentError(absl::StrCat("indices ", TypeAndShape(indices),
                                                 " must have the rank of data ", TypeAndShape(data),
                                                 " and be no larger along all axes but ", axis));
}

absl::Status CheckElementUpdates(const Tensor& data, const Tensor& indices, const Tensor& updates) {
  if (updates.type() == data.type() && updates.shape() == indices.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("updates must be ", Name(data.type()), ToString(indices.shape()),
                   " like data and indices, but are ", TypeAndShape(updates)));
}

absl::Status GatherElements::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
  ATTNRUN_RETURN_IF_ERROR(CheckElementIndices(data, indices, axis));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> addresses, Addresses(data, indices, axis));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), indices.shape()));
  for (size_t i = 0; i < addresses.size(); ++i) {
    CopyElement(data, addresses[i], *y, static_cast<int64_t>(i));
  }
  return absl::OkStatus();
}

absl::Status ScatterElements::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
  ATTNRUN_RETURN_IF_ERROR(CheckElementIndices(data, indices, axis));
  ATTNRUN_RETURN_IF_ERROR(CheckElementUpdates(data, indices, context.input(2)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> addresses, Addresses(data, indices, axis));
  std::vector<Update> updates;
  for (size_t i = 0; i < addresses.size(); ++i) {
    updates.push_back({addresses[i], static_cast<int64_t>(i)});
  }
  return ApplyUpdates(context, reduction_, data, context.input(2), updates);
}

}  // namespace attnrun::ops
