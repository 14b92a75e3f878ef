// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_CONTRIB_H_
#define ATTNRUN_OPS_CONTRIB_CONTRIB_H_

#include "ops/interface/registry.h"

namespace attnrun::ops {

// Operators that ONNX Runtime's optimizer and the model builder of onnxruntime-genai write. They
// have reference code only: the optimizer writes them in other operators (contrib_operators).
void RegisterContrib(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_CONTRIB_H_
