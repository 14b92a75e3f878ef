// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_EXECUTOR_H_
#define ATTNRUN_EXECUTION_EXECUTOR_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/run_options.h"
#include "execution/plan.h"

namespace attnrun::exec {

// Runs the plan of a main graph once. `inputs` has one tensor per graph input, undefined to use its
// default. `outputs` receives one tensor per graph output. Error messages begin with the node.
// Never throws. Thread-safe.
absl::Status Execute(const Plan& plan, absl::Span<const Tensor> inputs, const RunOptions& options,
                     Allocator& allocator, std::vector<Tensor>& outputs);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_EXECUTOR_H_
