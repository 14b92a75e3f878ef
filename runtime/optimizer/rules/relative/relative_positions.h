// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_RELATIVE_RELATIVE_POSITIONS_H_
#define ATTNRUN_OPTIMIZER_RULES_RELATIVE_RELATIVE_POSITIONS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// What depends on how far a key stands from a query is computed once per distance, not once per
// pair, as the biases of T5 and the indices of DeBERTa:
//
//   keys [T]   queries [S, 1]            keys        queries
//      |         |                         |         |     |
//      Sub [S, T]                       RelativePositions  |   [1, S + T]
//          |                                    |          |
//   Abs, Less, Log, Where, ...      ->   Abs, Less, ...    |
//          |                                    |          |
//   Gather(table) [S, T, N]             Gather [1, S+T, N] |
//          |                                    |          |
//   Transpose [N, S, T]                 Transpose          |   [N, 1, S + T]
//          |                                    |          |
//   Attention's bias                      RelativeToAbsolute   a view
//                                               |
//                                         Attention's bias
absl::StatusOr<int> ComputePerDistance(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_RELATIVE_RELATIVE_POSITIONS_H_
