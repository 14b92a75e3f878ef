#ifndef ATTNRUN_OPS_SHAPE_SHAPE_H_
#define ATTNRUN_OPS_SHAPE_SHAPE_H_

#include "ops/registry.h"

namespace attnrun {

// Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze: operators that read or change only the shape.
void RegisterShape(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_SHAPE_SHAPE_H_
