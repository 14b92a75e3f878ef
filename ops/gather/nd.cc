// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/nd.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

// The first element of the data's slice that each tuple names.
absl::StatusOr<std::vector<int64_t>> Addresses(const Tensor& data, const Tensor& indices,
                                               const TupleLayout& layout) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(indices));
  const Shape strides = DenseStrides(data.shape());
  int64_t batches = 1;
  for (int i = 0; i < layout.batch_axes; ++i) batches *= data.dim(i);
  std::vector<int64_t> addresses(layout.tuples);
  for (int64_t t = 0; t < layout.tuples; ++t) {
    if (layout.batch_axes > 0) {
      addresses[t] = t / (layout.tuples / batches) * strides[layout.batch_axes - 1];
    }
    for (int i = 0; i < layout.length; ++i) {
      const int axis = layout.batch_axes + i;
      const int64_t index = values[t * layout.length + i];
      if (index < -data.dim(axis) || index >= data.dim(axis)) {
        return IndexOutside(index, axis, data);
      }
      addresses[t] += WrapIndex(index, data.dim(axis)) * strides[axis];
    }
  }
  return addresses;
}

}  // namespace

absl::StatusOr<TupleLayout> LayOutTuples(const Tensor& data, const Tensor& indices,
                                         int64_t batch_dims) {
  ATTNRUN_RETURN_IF_ERROR(CheckIndexType(indices));
  const int rank = data.rank();
  const int64_t length = indices.rank() == 0 ? 0 : indices.shape().back();
  bool fits = batch_dims >= 0 && batch_dims < std::min(rank, indices.rank()) && length >= 1 &&
              length <= rank - batch_dims;
  for (int i = 0; fits && i < batch_dims; ++i) fits = data.dim(i) == indices.dim(i);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("tuples in ", TypeAndShape(indices),
                                                   " do not index data ", TypeAndShape(data),
                                                   " with ", batch_dims, " batch axes"));
  }
  TupleLayout layout;
  layout.length = static_cast<int>(length);
  layout.batch_axes = static_cast<int>(batch_dims);
  layout.tuples = indices.num_elements() / length;
  layout.shape.assign(indices.shape().begin(), indices.shape().end() - 1);
  for (int i = layout.batch_axes + layout.length; i < rank; ++i) {
    layout.slice *= data.dim(i);
    layout.shape.push_back(data.dim(i));
  }
  return layout;
}

absl::StatusOr<TupleLayout> LayOutUpdates(const Tensor& data, const Tensor& indices,
                                          const Tensor& updates) {
  ATTNRUN_ASSIGN_OR_RETURN(TupleLayout layout, LayOutTuples(data, indices, 0));
  if (updates.type() == data.type() && updates.shape() == layout.shape) return layout;
  return absl::InvalidArgumentError(
      absl::StrCat("updates must be ", Name(data.type()), ToString(layout.shape),
                   " like data and indices, but are ", TypeAndShape(updates)));
}

absl::Status GatherND::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const TupleLayout layout,
                           LayOutTuples(data, context.input(1), batch_dims_));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> addresses,
                           Addresses(data, context.input(1), layout));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), layout.shape));
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    CopyElement(data, addresses[i / layout.slice] + i % layout.slice, *y, i);
  }
  return absl::OkStatus();
}

absl::Status ScatterND::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  const Tensor& updates = context.input(2);
  ATTNRUN_ASSIGN_OR_RETURN(const TupleLayout layout,
                           LayOutUpdates(data, context.input(1), updates));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> addresses,
                           Addresses(data, context.input(1), layout));
  std::vector<Update> list;
  for (int64_t i = 0; i < updates.num_elements(); ++i) {
    list.push_back({addresses[i / layout.slice] + i % layout.slice, i});
  }
  return ApplyUpdates(context, reduction_, data, updates, list);
}

}  // namespace attnrun::ops
