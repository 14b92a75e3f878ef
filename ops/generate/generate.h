// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GENERATE_GENERATE_H_
#define ATTNRUN_OPS_GENERATE_GENERATE_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that make tensors from attributes, shapes and scalars.
void RegisterGenerate(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GENERATE_GENERATE_H_
