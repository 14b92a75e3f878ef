// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_CONSTANT_FOLDING_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_CONSTANT_FOLDING_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Computes nodes whose inputs are all constant, with the reference code, and makes their outputs
// initializers. Left as they are: random operators, operators with subgraphs, nodes that fail (they
// fail again where an error can name them), and results so much larger than their inputs that
// keeping them would cost more memory than computing them.
absl::StatusOr<int> FoldConstants(PassContext& context);

// Whether the node's results differ from run to run.
bool IsRandom(const Node& node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_CONSTANT_FOLDING_H_
