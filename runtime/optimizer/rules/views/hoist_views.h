// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_VIEWS_HOIST_VIEWS_H_
#define ATTNRUN_OPTIMIZER_RULES_VIEWS_HOIST_VIEWS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Rows of channels that are split, and then arranged alike in all parts, are arranged before:
//
//            x                                  x
//            |                                  |
//     Split (last axis)                 Reshape or Transpose
//       /    |    \              ->             |
//  Reshape Reshape Reshape               Split (last axis)
//     |      |      |                        /  |  \  .
//
// so that packed Q, K and V stay packed. For a Reshape or Transpose that leaves the last axis as it
// is, the same of every part that is read.
absl::StatusOr<int> HoistViews(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_VIEWS_HOIST_VIEWS_H_
