// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ACTIVATION_SWISH_H_
#define ATTNRUN_OPTIMIZER_RULES_ACTIVATION_SWISH_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// SiLU and the quick form of Gelu (alpha = 1.702):
//
//   x -----------------.                    x
//   |                   |                   |
//   [Mul alpha]         |       ->     Swish(alpha)
//   |                   |                   |
//   Sigmoid ---------- Mul -> y             y
namespace attnrun::opt {

absl::StatusOr<int> FuseSwish(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ACTIVATION_SWISH_H_
