// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_NARROW_SUMS_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_NARROW_SUMS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Running sums of integers that are widened before and narrowed after are those of the integers
// themselves, modulo 2^32:
//
//   Cast(CumSum(Cast(x: int32, int64), axis), int32)  ->  CumSum(x, axis)
absl::StatusOr<int> NarrowSums(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_NARROW_SUMS_H_
