// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_OUTPUTS_H_
#define ATTNRUN_RUNTIME_OUTPUTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun {

// Checks made before a run: kInvalidArgument if `wanted` names an output that is not declared, or
// holds a read-only tensor.
absl::Status CheckWanted(const std::vector<ValueInfo>& declared, const TensorMap& wanted);

// Copies the results of a run, in the order of `declared`, into the tensors of the same names in
// `wanted`; undefined ones are replaced. kInvalidArgument, before anything is written, if the type
// or shape of a buffer differs from its result.
absl::Status Deliver(const std::vector<ValueInfo>& declared, absl::Span<const Tensor> results,
                     TensorMap& wanted);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_OUTPUTS_H_
