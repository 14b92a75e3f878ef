// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_VIEWS_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_VIEWS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Chains that move elements about and come to nothing, to one Reshape or to one Transpose become
// just that:
//
//   x -> Reshape -> Transpose(0,2,1,3) -> Transpose(0,2,1,3) -> Reshape -> y   becomes   x = y
absl::StatusOr<int> SimplifyViews(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_VIEWS_H_
