// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_KNOWN_BRANCHES_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_KNOWN_BRANCHES_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

//   If(condition)    becomes    the nodes of its branch
//
// where the condition is the same in every run, as where an exporter asks for an extent that is a
// number by now.
absl::StatusOr<int> TakeKnownBranches(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_KNOWN_BRANCHES_H_
