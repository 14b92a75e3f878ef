// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_SHAPE_FOLDING_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_SHAPE_FOLDING_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Shape arithmetic whose result is the same in every run becomes an initializer, and a Reshape to
// computed extents one to constants, with -1 or 0 where an extent differs from run to run:
//
//   x: [batch, seq, 768] -> Shape -> Gather(0) -> Unsqueeze -> Concat(batch, -1, 12, 64) -> Reshape
//   becomes Reshape(x, [0, -1, 12, 64])
//
// Extents that a computation still needs are read off the graph inputs.
absl::StatusOr<int> FoldShapes(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_SHAPE_FOLDING_H_
