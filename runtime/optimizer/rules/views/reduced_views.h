// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_VIEWS_REDUCED_VIEWS_H_
#define ATTNRUN_OPTIMIZER_RULES_VIEWS_REDUCED_VIEWS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// What is summed, averaged or searched for its maximum need not be arranged before; a mean over an
// image is a mean, whatever it is called:
//
//   x [B, S, D] -> Transpose [B, D, S] -> GlobalAveragePool [B, D, 1] -> Reshape [B, D]
//   -->
//   ReduceMean(x, axis 1) [B, D]
//
// For ReduceMean, ReduceSum, ReduceMax and ReduceMin whose axes are axes of x in any order, or of
// extent 1, the others staying in their order.
absl::StatusOr<int> ReduceBehindViews(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_VIEWS_REDUCED_VIEWS_H_
