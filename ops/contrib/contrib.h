// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_CONTRIB_H_
#define ATTNRUN_OPS_CONTRIB_CONTRIB_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators of com.microsoft that ONNX Runtime's optimizer and onnxruntime-genai's model builder
// write. They have reference code only: the rule contrib_operators rewrites them as other
// operators.
void RegisterContrib(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_CONTRIB_H_
