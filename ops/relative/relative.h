#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_H_

#include "ops/registry.h"

namespace attnrun {

// What depends on how far a key stands from a query, once per distance instead of once per pair:
// RelativePositions, RelativeToAbsolute, RelativeScores.
void RegisterRelative(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_H_
