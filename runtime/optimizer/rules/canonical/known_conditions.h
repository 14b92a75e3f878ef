// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_KNOWN_CONDITIONS_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_KNOWN_CONDITIONS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// What a condition that is the same in every run decides:
//
//   And(x, true), Or(x, false)  ->  x
//   Where(true, x, y)           ->  x
//   Where(false, x, y)          ->  y
//
// where x has the extents of the result, so that nothing is left to broadcast. A comparison of
// positions with each other or with extents may be such a condition: Range(0, n) >= 0 or < n. So is
// whether a Softmax is infinite, as nan_to_num asks.
absl::StatusOr<int> DecideConditions(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_KNOWN_CONDITIONS_H_
