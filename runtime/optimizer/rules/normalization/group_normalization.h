// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_GROUP_NORMALIZATION_H_
#define ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_GROUP_NORMALIZATION_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Normalization of groups of channels, as opsets before 18 had to spell it, and of single channels:
//
//   x [N, C, ..] -> Reshape [N, G, ..] -> InstanceNormalization(1, 0) -> Reshape [N, C, ..]
//     -> Mul(scale [C, 1..]) -> Add(bias [C, 1..])
//   -->
//   GroupNormalization(x, scale, bias) {num_groups=G}
//
// without the Reshapes, and for as many groups as channels: InstanceNormalization(x, scale, bias).
absl::StatusOr<int> FuseGroupNormalization(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_GROUP_NORMALIZATION_H_
