// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SHAPE_SHAPE_H_
#define ATTNRUN_OPS_SHAPE_SHAPE_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze: operators that read or change only the shape.
void RegisterShape(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SHAPE_SHAPE_H_
