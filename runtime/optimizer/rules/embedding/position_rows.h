// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_EMBEDDING_POSITION_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_EMBEDDING_POSITION_ROWS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Rows of a constant table, one for each position:
//
//   Range(0, S), perhaps tiled, or Slice([[0, 1, 2, ...]], S)
//        |
//   Gather(table [P, D]) [1, S, D]                     Slice(table, 0, S) [S, D]
//              \______                          -->          |
//   x [B, S, D] __ Add                          x [B, S, D] __ Add
//
// The positions may begin at another number. Where a run has more positions than the table has
// rows, the sum is refused in place of the Gather.
absl::StatusOr<int> SlicePositionTables(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_EMBEDDING_POSITION_ROWS_H_
