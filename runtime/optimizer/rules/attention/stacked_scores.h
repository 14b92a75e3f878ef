// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_STACKED_SCORES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_STACKED_SCORES_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Scores whose matrices are put in another order than the product has them, as the groups of heads
// in einsum("bghnd,bhsd->bghns") are, keep the product's order up to the Softmax:
//
//   MatMul [B,H,G,S,T]                        MatMul [B,H,G,S,T]
//      |                                         |
//   Transpose(0,2,1,3,4)   m [G,H,S,T]           |     Transpose(m) [1,H,G,S,T]
//       |____________________|                   |______|
//                Add                ->              Add
//                 |                                  |
//              Softmax                            Softmax
//                 |                                  |
//           [B,G,H,S,T]                     Transpose(0,2,1,3,4)
//
// So do scores whose keys are not the last axis, where the Softmax is over the axis that they are.
namespace attnrun::opt {

absl::StatusOr<int> KeepOrderOfScores(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_STACKED_SCORES_H_
