// SPDX-License-Identifier: Apache-2.0
// Inference of types and shapes for the normalizations.
#include <utility>

#include "ops/interface/infer_rules.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/simple_normalization.h"

namespace attnrun::ops {

void LayerNormalization::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  context.SetOutput(0, {context.input(1).type, x, std::nullopt});
  ValueFacts statistics{spec_.stash, x, std::nullopt};
  if (x.has_value()) {
    const std::optional<size_t> axis = KnownAxis(spec_.axis, x->size());
    if (!axis.has_value()) return;
    for (size_t i = *axis; i < x->size(); ++i) (*statistics.dims)[i] = 1;
  }
  if (spec_.mean_output > 0) context.SetOutput(spec_.mean_output, statistics);
  if (spec_.inverse_output > 0) context.SetOutput(spec_.inverse_output, std::move(statistics));
}

void BatchNormalization::Infer(InferContext& context) const {
  InferLikeInput(context);
  if (!training_) return;
  for (int i = 1; i < 3; ++i) {
    const ValueFacts& before = context.input(2 + i);
    context.SetOutput(i, {before.type, before.dims, std::nullopt});
  }
}

void GroupNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

void LpNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

void MeanVarianceNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

void Lrn::Infer(InferContext& context) const { InferLikeInput(context); }

}  // namespace attnrun::ops
