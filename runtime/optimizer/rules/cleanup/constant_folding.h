// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_CONSTANT_FOLDING_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_CONSTANT_FOLDING_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/context.h"

namespace attnrun::opt {

// True if the node's results differ from run to run.
bool IsRandom(const Node& node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_CONSTANT_FOLDING_H_
