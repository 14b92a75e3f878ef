// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_BROADCASTING_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_BROADCASTING_H_

#include "absl/functional/function_ref.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The value that `value` is only broadcast from (by Expand, Tile or leading axes of extent 1), as
// far up as `fits` says of the extents that they will do in its place, or has fewer leading axes of
// extent 1 than; `value` itself if there is none.
Value* BroadcastSource(Value* value, Facts& facts,
                       absl::FunctionRef<bool(const std::vector<SymInt>&)> fits);

// Whether extents broadcast to `target` and leave it as it is: right aligned, each is 1, or equal,
// or that of the first position alone, as a Slice to 1 has it.
bool BroadcastsTo(const std::vector<SymInt>& dims, const std::vector<SymInt>& target);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_BROADCASTING_H_
