// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_RESHAPE_FOLDING_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_RESHAPE_FOLDING_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/context.h"
#include "optimizer/rules/cleanup/extent_sources.h"

namespace attnrun::opt {

// Replaces a Reshape's target by a constant, or by extents that are read off their sources, as far
// as it is known, and drops a Reshape before it. Ignores other nodes. Returns the number of
// rewrites applied.
absl::StatusOr<int> FoldReshape(RuleContext& context, const ExtentSources& extents, Node* node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_RESHAPE_FOLDING_H_
