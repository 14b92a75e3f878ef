#ifndef ATTNRUN_OPS_CONTRIB_CONTRIB_H_
#define ATTNRUN_OPS_CONTRIB_CONTRIB_H_

#include "ops/registry.h"

namespace attnrun {

// The domain of ONNX Runtime's own operators, described in its docs/ContribOperators.md. They have
// one version.
inline constexpr char kContribDomain[] = "com.microsoft";

// Operators that ONNX Runtime's optimizer and the model builder of onnxruntime-genai write. They
// have reference code only: the optimizer writes them in other operators (contrib_operators).
void RegisterContrib(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_CONTRIB_CONTRIB_H_
