// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/broadcast_reference.h"

#include "core/status.h"

namespace attnrun::ops {

std::vector<int64_t> BroadcastIndices(const Shape& from, const Shape& to) {
  std::vector<int64_t> indices;
  indices.reserve(NumElements(to).value_or(0));
  ForEachOffset(to, BroadcastStrides(from, to).value_or(Shape(to.size(), 0)),
                [&](int64_t offset) { indices.push_back(offset); });
  return indices;
}

absl::StatusOr<Shape> BroadcastInputShapes(const OpContext& context) {
  Shape shape;
  for (int i = 0; i < context.num_inputs(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, context.input(i).shape()));
  }
  // A small file can ask for an output of any size. The repeated operands are vectors, which would
  // throw, so the allocator checks the size first.
  Shape scratch = shape;
  scratch.push_back(2 + context.num_inputs());
  ATTNRUN_RETURN_IF_ERROR(
      Tensor::Allocate(DataType::kInt64, scratch, context.allocator()).status());
  return shape;
}

}  // namespace attnrun::ops
