// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that work once per distance between query and key instead of once per pair:
// RelativePositions, RelativeToAbsolute, RelativeScores.
void RegisterRelative(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_H_
