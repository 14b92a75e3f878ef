#ifndef ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_FLATTENED_SCORES_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_FLATTENED_SCORES_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

// Scores as one matrix, for a Softmax that takes no more axes:
//
//   s [B,N,S,T]                  s [B,N,S,T]
//        |                            |
//   Reshape [B*N*S,T]    ->        Softmax
//        |                            |
//     Softmax                    Reshape [B*N*S,T]
namespace attnrun {

absl::StatusOr<int> KeepAxesOfScores(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_FLATTENED_SCORES_H_
