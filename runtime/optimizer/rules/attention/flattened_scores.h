// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_FLATTENED_SCORES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_FLATTENED_SCORES_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Scores as one matrix, for a Softmax that takes no more axes:
//
//   s [B,N,S,T]                  s [B,N,S,T]
//        |                            |
//   Reshape [B*N*S,T]    ->        Softmax
//        |                            |
//     Softmax                    Reshape [B*N*S,T]
namespace attnrun::opt {

absl::StatusOr<int> KeepAxesOfScores(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_FLATTENED_SCORES_H_
