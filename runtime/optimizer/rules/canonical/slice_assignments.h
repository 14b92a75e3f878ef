// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_SLICE_ASSIGNMENTS_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_SLICE_ASSIGNMENTS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// A tensor all of which is written slice by slice, y[..., :8] = a and y[..., 8:] = b:
//
//   ScatterND(ScatterND(y, [places of the first], a), [places of the rest], b)
//     ->  Concat(a, b)
absl::StatusOr<int> JoinAssignedSlices(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_SLICE_ASSIGNMENTS_H_
