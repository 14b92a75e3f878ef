// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_COMMON_SUBEXPRESSIONS_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_COMMON_SUBEXPRESSIONS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Makes one node of several that apply the same version of an operator with the same attributes to
// the same values, and one initializer of several with the same elements. Random operators and
// those with subgraphs stay.
absl::StatusOr<int> MergeCommonSubexpressions(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_COMMON_SUBEXPRESSIONS_H_
