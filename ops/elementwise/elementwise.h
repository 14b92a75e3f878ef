#ifndef ATTNRUN_OPS_ELEMENTWISE_ELEMENTWISE_H_
#define ATTNRUN_OPS_ELEMENTWISE_ELEMENTWISE_H_

#include "ops/registry.h"

namespace attnrun {

// All operators of this folder: arithmetic, comparisons, logic, functions and activations, Where,
// Clip, casts, Identity and Dropout.
void RegisterElementwise(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_ELEMENTWISE_ELEMENTWISE_H_
