#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_MASKED_FILL_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_MASKED_FILL_H_

#include "optimizer/pass.h"

namespace attnrun {

// A number written wherever a mask says so, one place after the other:
//
//   ScatterND(x, Transpose(NonZero(mask)), Expand(c, [how many places mask has]))
//     ->  Where(mask, c, x)
//
// or with a ConstantOfShape of c.
absl::StatusOr<int> ChooseByMasks(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_MASKED_FILL_H_
