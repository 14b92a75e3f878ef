#ifndef ATTNRUN_OPS_MOVEMENT_MOVEMENT_H_
#define ATTNRUN_OPS_MOVEMENT_MOVEMENT_H_

#include "ops/registry.h"

namespace attnrun {

// Operators that put elements in other places without looking at them.
void RegisterMovement(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_MOVEMENT_MOVEMENT_H_
