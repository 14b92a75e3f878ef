// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GELU_H_
#define ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GELU_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

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
namespace attnrun::opt {

absl::StatusOr<int> FuseGelu(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GELU_H_
