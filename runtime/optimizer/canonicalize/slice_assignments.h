#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_SLICE_ASSIGNMENTS_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_SLICE_ASSIGNMENTS_H_

#include "optimizer/pass.h"

namespace attnrun {

// A tensor all of which is written slice by slice, y[..., :8] = a and y[..., 8:] = b:
//
//   ScatterND(ScatterND(y, [places of the first], a), [places of the rest], b)
//     ->  Concat(a, b)
absl::StatusOr<int> JoinAssignedSlices(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_SLICE_ASSIGNMENTS_H_
