#ifndef ATTNRUN_OPS_GATHER_GATHER_H_
#define ATTNRUN_OPS_GATHER_GATHER_H_

#include "ops/registry.h"

namespace attnrun {

// Operators that read from, or write to, places that an index tensor names.
void RegisterGather(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_GATHER_GATHER_H_
