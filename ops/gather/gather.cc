// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/gather.h"

#include "core/status.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {

Shape GatheredShape(const Tensor& data, const Tensor& indices, int axis) {
  Shape shape(data.shape().begin(), data.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), data.shape().begin() + axis + 1, data.shape().end());
  return shape;
}

absl::Status Gather::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                           ReadIndices(context.input(1), axis, data));
  const Shape shape = GatheredShape(data, context.input(1), axis);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), shape));
  const int64_t inner = DenseStrides(data.shape())[axis];
  const auto count = static_cast<int64_t>(indices.size());
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    const int64_t b = i % inner;
    const int64_t index = indices[i / inner % count];
    const int64_t a = i / inner / count;
    CopyElement(data, (a * data.dim(axis) + index) * inner + b, *y, i);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
