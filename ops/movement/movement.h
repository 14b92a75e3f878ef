// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_MOVEMENT_H_
#define ATTNRUN_OPS_MOVEMENT_MOVEMENT_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that move elements without looking at them.
void RegisterMovement(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_MOVEMENT_H_
