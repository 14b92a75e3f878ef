// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_SQUARES_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_SQUARES_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// A power of two is a product, which most exporters write:
//
//   Pow(x, 2)  ->  Mul(x, x)
absl::StatusOr<int> MultiplySquares(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_SQUARES_H_
