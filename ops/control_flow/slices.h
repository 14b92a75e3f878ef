// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTROL_FLOW_SLICES_H_
#define ATTNRUN_OPS_CONTROL_FLOW_SLICES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// The slice at `index` along `axis`, without that axis, dense. Preconditions: axis and index are
// within the tensor.
absl::StatusOr<Tensor> SliceAt(const Tensor& tensor, int axis, int64_t index, Allocator& allocator);

// `slices`, which must agree in type and shape, side by side along a new axis. Without slices: an
// empty float tensor [0].
absl::StatusOr<Tensor> Stack(const std::vector<Tensor>& slices, int64_t axis, Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTROL_FLOW_SLICES_H_
