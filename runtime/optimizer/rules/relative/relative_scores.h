// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_RELATIVE_RELATIVE_SCORES_H_
#define ATTNRUN_OPTIMIZER_RULES_RELATIVE_RELATIVE_SCORES_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Scores of queries with embeddings of keys' positions and of keys with those of queries', as
// DeBERTa adds them to its attention, in one pass that keeps nothing but their sum:
//
//   q   Transpose(r)           k   Transpose(r')
//    \  /                       \  /
//   MatMul   i                 MatMul   i'
//        \  /                       \  /
//    TakeAlongAxis              TakeAlongAxis          q  r  i  k  r'  i'
//         |                          |                  \  \  \ |  /  /
//    Div by c                   Transpose       ->      RelativeScores
//          \                        /                   {scales = [1/c, 1/c],
//           \                  Div by c                  transposed = [0, 1]}
//            \                  /
//             +------ Add -----+
absl::StatusOr<int> FuseRelativeScores(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_RELATIVE_RELATIVE_SCORES_H_
