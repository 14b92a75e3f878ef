#ifndef ATTNRUN_OPS_SEARCH_SEARCH_H_
#define ATTNRUN_OPS_SEARCH_SEARCH_H_

#include "ops/registry.h"

namespace attnrun {

// Operators that find elements by their value: ArgMax, ArgMin, NonZero, TopK, Unique.
void RegisterSearch(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_SEARCH_SEARCH_H_
