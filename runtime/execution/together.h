// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_TOGETHER_H_
#define ATTNRUN_EXECUTION_TOGETHER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "execution/executor.h"
#include "execution/joins.h"

namespace attnrun::exec {

// Runs the plan of a main graph for several requests. buffers[r] are those of request r, as in
// Execute, and so are the bits of the results: steps that can be joined run once on the positions
// of all requests, the others once per request. `joins` are those of the plan. Never throws.
absl::Status ExecuteTogether(const Plan& plan, absl::Span<const Join> joins,
                             absl::Span<RunBuffers* const> buffers, const RunContext& context);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_TOGETHER_H_
