// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_DEAD_CODE_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_DEAD_CODE_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Removes nodes and initializers that no graph output depends on. Graph inputs stay.
absl::StatusOr<int> RemoveDeadCode(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_DEAD_CODE_H_
