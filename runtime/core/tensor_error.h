// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_TENSOR_ERROR_H_
#define ATTNRUN_CORE_TENSOR_ERROR_H_

#include "absl/status/statusor.h"
#include "attnrun/precision_report.h"
#include "attnrun/tensor.h"

namespace attnrun {

// The difference of `lower` from `float32`, which may be strided. Fails only where memory does.
absl::StatusOr<PrecisionError> ErrorOf(const Tensor& float32, const Tensor& lower);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_TENSOR_ERROR_H_
