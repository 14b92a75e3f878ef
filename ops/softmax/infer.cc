// What the operators of this folder tell of their output.
#include "ops/infer_rules.h"
#include "ops/softmax/softmax.h"

namespace attnrun {

void Softmax::Infer(InferContext& context) const { InferLikeInput(context); }

void Hardmax::Infer(InferContext& context) const { InferLikeInput(context); }

}  // namespace attnrun
