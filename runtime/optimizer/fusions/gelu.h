#ifndef ATTNRUN_OPTIMIZER_FUSIONS_GELU_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_GELU_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

// The two forms of Gelu, written out:
//
//   x ---------------.                                x
//   |                 |                               |
//   Div(sqrt 2)       |                             Gelu
//   |                 |                    ->         |
//   Erf, Add 1 ----- Mul, Mul(0.5) -> y               y
//
// and 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), which becomes Gelu with approximate =
// "tanh". The factors may stand in any order, the polynomial in any spelling.
namespace attnrun {

absl::StatusOr<int> FuseGelu(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_GELU_H_
