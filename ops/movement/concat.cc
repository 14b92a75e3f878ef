// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/concat.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {

absl::StatusOr<Shape> Concat::Join(const OpContext& context, int axis) const {
  const Tensor& first = context.input(0);
  Shape shape = first.shape();
  for (int i = 1; i < context.num_inputs(); ++i) {
    const Tensor& next = context.input(i);
    bool agrees = next.type() == first.type() && next.rank() == first.rank();
    for (int k = 0; agrees && k < first.rank(); ++k) {
      agrees = k == axis || next.dim(k) == first.dim(k);
    }
    if (!agrees || next.dim(axis) > std::numeric_limits<int64_t>::max() - shape[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", TypeAndShape(next),
                                                     ", which cannot be joined with ",
                                                     TypeAndShape(first), " along axis ", axis));
    }
    shape[axis] += next.dim(axis);
  }
  return shape;
}

absl::Status Concat::Reference(OpContext& context) const {
  const Tensor& first = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, first.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Join(context, axis));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, first.type(), shape));
  const Shape strides = DenseStrides(shape);
  int64_t start = 0;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Tensor& x = context.input(i);
    int64_t position = 0;
    ForEachOffset(x.shape(), strides,
                  [&](int64_t offset) { CopyElement(x, position++, *y, start + offset); });
    start += x.dim(axis) * strides[axis];
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
