// SPDX-License-Identifier: Apache-2.0
// Inference of types and shapes for the operators of this folder.
#include "ops/interface/infer_rules.h"
#include "ops/softmax/softmax.h"

namespace attnrun::ops {

void Softmax::Infer(InferContext& context) const { InferLikeInput(context); }

void Hardmax::Infer(InferContext& context) const { InferLikeInput(context); }

}  // namespace attnrun::ops
