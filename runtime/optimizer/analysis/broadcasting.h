// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_BROADCASTING_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_BROADCASTING_H_

#include "absl/functional/function_ref.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// Walks up through Expand, Tile and leading axes of extent 1 and returns the earliest source whose
// extents `fits` accepts, or that differs from such a source only in leading axes of extent 1;
// `value` itself if there is none.
Value* BroadcastSource(Value* value, Facts& facts,
                       absl::FunctionRef<bool(const std::vector<SymInt>&)> fits);

// True if extents broadcast to `target` and leave it unchanged: aligned on the right, each is 1,
// equal to the target's, or min(target, 1), the extent of a Slice to 1.
bool BroadcastsTo(const std::vector<SymInt>& dims, const std::vector<SymInt>& target);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_BROADCASTING_H_
