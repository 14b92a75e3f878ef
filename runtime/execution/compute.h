// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_COMPUTE_H_
#define ATTNRUN_EXECUTION_COMPUTE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "execution/plan.h"
#include "ops/interface/op_context.h"

namespace attnrun::exec {

// Computes the outputs of a step with its kernel or, if there is none or it declines, with the
// reference code. `inputs` are those that `context` shows; strided ones are made dense where the
// code needs it. Returns true if the kernel ran. Never throws.
absl::StatusOr<bool> Compute(const Step& step, absl::Span<Tensor> inputs, ops::OpContext& context);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_COMPUTE_H_
