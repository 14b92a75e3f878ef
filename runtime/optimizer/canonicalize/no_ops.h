#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_NO_OPS_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_NO_OPS_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

namespace attnrun {

// Removes what gives its input back: Identity, Dropout outside of training, Cast to the type that
// the input has, one after a Cast that lost nothing, Concat and Sum of one input, sums with 0 and
// products with 1 that change no shape.
absl::StatusOr<int> RemoveNoOps(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_NO_OPS_H_
