// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_OPERANDS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Views before an attnrun.Attention become a part of its layouts, as merged projections bring them:
//
//        Linear [B,S,3D]                          Linear [B,S,3D]
//          |                                      |     |     |
//        Split                          ->       Attention {q_layout = "b s (n:12 h:64)",
//      /   |   \                                            k_layout = "b s 768+(n:12 h:64)", ...}
//     Attention {q_layout = "b s (n:12 h:64)", ...}
//
// Where 16-bit operands are widened behind their views, what they are views of is widened instead.
namespace attnrun::opt {

absl::StatusOr<int> AbsorbViews(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_OPERANDS_H_
