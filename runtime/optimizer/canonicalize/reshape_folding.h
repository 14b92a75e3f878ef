#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_RESHAPE_FOLDING_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_RESHAPE_FOLDING_H_

#include "absl/status/statusor.h"
#include "optimizer/canonicalize/extent_sources.h"
#include "optimizer/pass.h"

namespace attnrun {

// Writes what is known of a Reshape's target into it as a constant, or as extents that are read off
// elsewhere, and takes out a Reshape before it. Other nodes are left as they are. Returns how many
// rewrites were applied.
absl::StatusOr<int> FoldReshape(PassContext& context, const ExtentSources& extents, Node* node);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_RESHAPE_FOLDING_H_
