#ifndef ATTNRUN_OPS_GENERATE_GENERATE_H_
#define ATTNRUN_OPS_GENERATE_GENERATE_H_

#include "ops/registry.h"

namespace attnrun {

// Operators that make tensors out of attributes, shapes and scalars.
void RegisterGenerate(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_GENERATE_GENERATE_H_
