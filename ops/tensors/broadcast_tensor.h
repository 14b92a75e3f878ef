// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_BROADCAST_TENSOR_H_
#define ATTNRUN_OPS_TENSORS_BROADCAST_TENSOR_H_

#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// BroadcastStrides for a tensor that may be strided itself: the strides, in elements, that read it
// as a tensor of shape `to`.
absl::StatusOr<Shape> BroadcastStridesOf(const Tensor& tensor, const Shape& to);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_BROADCAST_TENSOR_H_
