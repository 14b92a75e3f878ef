// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEARCH_SEARCH_H_
#define ATTNRUN_OPS_SEARCH_SEARCH_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that find elements by their value: ArgMax, ArgMin, NonZero, TopK, Unique.
void RegisterSearch(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEARCH_SEARCH_H_
