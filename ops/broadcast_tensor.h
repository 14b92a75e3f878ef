#ifndef ATTNRUN_OPS_BROADCAST_TENSOR_H_
#define ATTNRUN_OPS_BROADCAST_TENSOR_H_

#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "attnrun/tensor.h"

namespace attnrun {

// BroadcastStrides for a tensor that may be strided itself: the element strides that walk it as one
// of shape `to`.
absl::StatusOr<Shape> BroadcastStridesOf(const Tensor& tensor, const Shape& to);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_BROADCAST_TENSOR_H_
