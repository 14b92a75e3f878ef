// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_OUTPUTS_H_
#define ATTNRUN_RUNTIME_OUTPUTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun {

// What can be told before a run: kInvalidArgument if `wanted` names an output that is not declared,
// or holds a tensor that may not be written.
absl::Status CheckWanted(const std::vector<ValueInfo>& declared, const TensorMap& wanted);

// Copies the results of a run, in the order of `declared`, into the tensors that `wanted` holds
// under their names, or replaces those that are undefined. kInvalidArgument, before anything is
// written, if a buffer has another type or shape than its result.
absl::Status Deliver(const std::vector<ValueInfo>& declared, absl::Span<const Tensor> results,
                     TensorMap& wanted);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_OUTPUTS_H_
