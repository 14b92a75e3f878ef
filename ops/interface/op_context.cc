// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/op_context.h"

#include "core/status.h"

namespace attnrun::ops {

absl::StatusOr<Tensor*> OpContext::AllocateOutput(int i, DataType type,
                                                  absl::Span<const int64_t> shape,
                                                  absl::Span<const int> reusable) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  for (const int candidate : reusable) {
    if (!has_input(candidate) || exclusive_.empty() || !exclusive_[candidate]) continue;
    const Tensor& tensor = inputs_[candidate];
    if (!tensor.is_dense() || tensor.type() != type || tensor.num_elements() != count) continue;
    ATTNRUN_ASSIGN_OR_RETURN(outputs_[i], tensor.Reshaped(shape));
    return &outputs_[i];
  }
  ATTNRUN_ASSIGN_OR_RETURN(outputs_[i], Tensor::Allocate(type, shape, allocator_));
  return &outputs_[i];
}

}  // namespace attnrun::ops
