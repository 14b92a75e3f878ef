// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_BROADCASTS_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_BROADCASTS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Operators that broadcast read their operands as they are before an Expand, or before leading axes
// of extent 1 were added, where the result has the same extents:
//
//   Div(x, Expand(y, Shape(x)))             ->  Div(x, y)
//   Min(x, ConstantOfShape(Shape(x)) {3})   ->  Min(x, 3)
//
// What is left of them is written in one way:
//
//   Expand(3, shape)                        ->  ConstantOfShape(shape) {3}
//   Tile(x: [.., 1], [1, 4])                ->  Expand(x, [1, 4])
//   Add(constant, Expand(constant, shape))  ->  Expand(constant, shape)
absl::StatusOr<int> DropBroadcasts(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_BROADCASTS_H_
