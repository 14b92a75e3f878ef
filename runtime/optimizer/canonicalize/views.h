#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_VIEWS_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_VIEWS_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

namespace attnrun {

// Chains that move elements about and come to nothing, to one Reshape or to one Transpose become
// just that:
//
//   x -> Reshape -> Transpose(0,2,1,3) -> Transpose(0,2,1,3) -> Reshape -> y   becomes   x = y
absl::StatusOr<int> SimplifyViews(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_VIEWS_H_
