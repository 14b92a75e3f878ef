// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_RELATIVE_TAKE_ALONG_AXIS_H_
#define ATTNRUN_OPTIMIZER_RULES_RELATIVE_TAKE_ALONG_AXIS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Indices are not repeated for all samples and heads, as DeBERTa's positions are:
//
//   i [1, S, T] -> Expand -> [N, S, T]
//   GatherElements(x [N, S, P], [N, S, T]) {axis = 2}   ->   TakeAlongAxis(x, i)
absl::StatusOr<int> TakeAlongAxes(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_RELATIVE_TAKE_ALONG_AXIS_H_
