// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// What depends on how far a key stands from a query, once per distance instead of once per pair:
// RelativePositions, RelativeToAbsolute, RelativeScores.
void RegisterRelative(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_H_
