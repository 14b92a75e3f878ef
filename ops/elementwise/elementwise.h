// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_ELEMENTWISE_H_
#define ATTNRUN_OPS_ELEMENTWISE_ELEMENTWISE_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// All operators of this folder: arithmetic, comparisons, logic, functions and activations, Where,
// Clip, casts, Identity and Dropout.
void RegisterElementwise(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_ELEMENTWISE_H_
