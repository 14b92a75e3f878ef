// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/broadcast_tensor.h"

#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {

absl::StatusOr<Shape> BroadcastStridesOf(const Tensor& tensor, const Shape& to) {
  ATTNRUN_ASSIGN_OR_RETURN(Shape strides, BroadcastStrides(tensor.shape(), to));
  if (tensor.is_dense()) return strides;
  const size_t missing = to.size() - tensor.shape().size();
  for (size_t axis = missing; axis < to.size(); ++axis) {
    if (strides[axis] != 0) strides[axis] = tensor.strides()[axis - missing];
  }
  return strides;
}

}  // namespace attnrun::ops
