// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_SWIGLU_H_
#define ATTNRUN_OPS_ELEMENTWISE_SWIGLU_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// ONNX SwiGLU-28 (a, b): a Sigmoid(alpha a) b; a and b have one type and shape.
void RegisterSwiglu(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_SWIGLU_H_
