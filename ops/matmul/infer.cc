// SPDX-License-Identifier: Apache-2.0
// Inference of types and shapes for matrix products.
#include <utility>

#include "ops/interface/infer_rules.h"
#include "ops/matmul/matmul.h"

namespace attnrun::ops {

std::optional<Dims> InferMatMul(InferContext& context, const std::optional<Dims>& a,
                                const std::optional<Dims>& b) {
  if (!a.has_value() || !b.has_value() || a->empty() || b->empty()) return std::nullopt;
  const auto batch = [](const Dims& stack) {
    const auto axes = static_cast<int64_t>(stack.size());
    return Dims(stack.begin(), stack.begin() + (axes > 2 ? axes - 2 : 0));
  };
  context.RequireEqual(a->back(), (*b)[b->size() > 1 ? b->size() - 2 : 0]);
  context.RequireBroadcast(batch(*a), batch(*b));
  std::optional<Dims> dims = BroadcastDims(batch(*a), batch(*b));
  if (!dims.has_value()) return std::nullopt;
  if (a->size() > 1) dims->push_back((*a)[a->size() - 2]);
  if (b->size() > 1) dims->push_back(b->back());
  return dims;
}

void MatMul::Infer(InferContext& context) const {
  SetDims(context, 0, InferMatMul(context, context.input(0).dims, context.input(1).dims));
}

void GemmOp::Infer(InferContext& context) const {
  const Dims a = context.input(0).dims.value_or(UnknownDims(2));
  const Dims b = context.input(1).dims.value_or(UnknownDims(2));
  SetDims(context, 0, std::nullopt);
  if (a.size() != 2 || b.size() != 2) return;
  context.RequireEqual(a[attributes_.transpose_a ? 0 : 1], b[attributes_.transpose_b ? 1 : 0]);
  SetDims(context, 0, Dims{a[attributes_.transpose_a ? 1 : 0], b[attributes_.transpose_b ? 0 : 1]});
}

void MatMulInteger::Infer(InferContext& context) const {
  context.SetOutput(
      0, {DataType::kInt32, InferMatMul(context, context.input(0).dims, context.input(1).dims),
          std::nullopt});
}

}  // namespace attnrun::ops
