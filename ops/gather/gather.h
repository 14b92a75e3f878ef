// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_GATHER_H_
#define ATTNRUN_OPS_GATHER_GATHER_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that read from, or write to, places that an index tensor names.
void RegisterGather(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_GATHER_H_
