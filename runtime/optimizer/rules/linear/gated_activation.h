// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_GATED_ACTIVATION_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_GATED_ACTIVATION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// What a gated feed-forward network does between its products, in one pass over the rows:
//
//     Linear [gate up]                      Linear [gate up]
//        |                                     |
//      Split                        ->      GatedActivation {activation = "Silu"}
//      /    \  .                               |
//   Swish    |                                 y
//      \    /
//       Mul
//        |
//        y
namespace attnrun::opt {

absl::StatusOr<int> FuseGatedActivation(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_GATED_ACTIVATION_H_
