// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_WHERE_IN_PLACE_H_
#define ATTNRUN_OPS_ELEMENTWISE_WHERE_IN_PLACE_H_

#include "ops/interface/op_context.h"

namespace attnrun::ops {

// Where(condition, update, cache), or with update and cache exchanged, for a static cache of a
// state: overwrites the elements of the update and leaves the others alone. Returns false, and does
// nothing, if neither input is such a cache, or the condition changes within few elements, so that
// looking at each pays less than a copy. Precondition: the types are as Where demands.
bool WhereInPlace(OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_WHERE_IN_PLACE_H_
