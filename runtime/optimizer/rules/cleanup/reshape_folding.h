// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_RESHAPE_FOLDING_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_RESHAPE_FOLDING_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/context.h"
#include "optimizer/rules/cleanup/extent_sources.h"

namespace attnrun::opt {

// Writes what is known of a Reshape's target into it as a constant, or as extents that are read off
// elsewhere, and takes out a Reshape before it. Other nodes are left as they are. Returns how many
// rewrites were applied.
absl::StatusOr<int> FoldReshape(RuleContext& context, const ExtentSources& extents, Node* node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_RESHAPE_FOLDING_H_
