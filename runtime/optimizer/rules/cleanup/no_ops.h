// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_NO_OPS_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_NO_OPS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Removes what gives its input back: Identity, Dropout outside of training, Cast to the type that
// the input has, one after a Cast that lost nothing, Concat and Sum of one input, sums with 0 and
// products with 1 that change no shape.
absl::StatusOr<int> RemoveNoOps(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_NO_OPS_H_
