// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_SELECT_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_SELECT_ROWS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// One row of each sample, x [B, S, D] and i [B]:
//
//   GatherND(x, Concat(Range(0, B) [B, 1], i [B, 1]))
//   Gather(Flatten(x) [B*S, D], i + Range(0, B) * S)      where i is an ArgMax over S
//   -->
//   GatherND(x, i [B, 1]) {batch_dims=1}
//
// And of rows that a list tells, each in a tuple of its own:
//
//   GatherND(x, Unsqueeze(i, -1))  ->  Gather(x, i)
absl::StatusOr<int> SelectRows(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_SELECT_ROWS_H_
