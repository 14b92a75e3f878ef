// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_INFER_H_
#define ATTNRUN_OPS_ELEMENTWISE_INFER_H_

#include "absl/functional/function_ref.h"
#include "ops/interface/infer_context.h"

// Inference of elementwise operators.
namespace attnrun::ops {

// Output 0 has `type` and the shape of input 0.
void InferSameShape(InferContext& context, DataType type);

// Output 0 has `type` and the shape that all inputs broadcast to. If the contents of all inputs are
// known and `combine` is given, output 0 holds combine(elements), with one element of each input.
using Combine = absl::FunctionRef<SymInt(absl::Span<const SymInt>)>;
void InferBroadcast(InferContext& context, DataType type);
void InferBroadcast(InferContext& context, DataType type, Combine combine);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_INFER_H_
