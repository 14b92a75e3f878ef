// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_MASKED_FILL_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_MASKED_FILL_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// A number written wherever a mask says so, one place after the other:
//
//   ScatterND(x, Transpose(NonZero(mask)), Expand(c, [how many places mask has]))
//     ->  Where(mask, c, x)
//
// or with a ConstantOfShape of c.
absl::StatusOr<int> ChooseByMasks(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_MASKED_FILL_H_
