#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_SQUARES_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_SQUARES_H_

#include "optimizer/pass.h"

namespace attnrun {

// A power of two is a product, which most exporters write:
//
//   Pow(x, 2)  ->  Mul(x, x)
absl::StatusOr<int> MultiplySquares(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_SQUARES_H_
