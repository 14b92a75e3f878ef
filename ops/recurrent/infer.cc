// SPDX-License-Identifier: Apache-2.0
// Inference of the types and extents of recurrent layers.
#include <utility>

#include "ops/interface/infer_rules.h"
#include "ops/recurrent/recurrent.h"

namespace attnrun::ops {

void Recurrent::Infer(InferContext& context) const {
  const Dims x = context.input(0).dims.value_or(UnknownDims(3));
  const Dims r = context.input(2).dims.value_or(UnknownDims(3));
  if (x.size() != 3 || r.size() != 3) return;
  const SymInt directions = attributes_.directions();
  const SymInt hidden = attributes_.hidden_size >= 0 ? attributes_.hidden_size : r[2];
  const SymInt& steps = x[attributes_.batch_first ? 1 : 0];
  const SymInt& batch = x[attributes_.batch_first ? 0 : 1];
  for (const int state : {5, 6}) {
    const bool known = context.has_input(state) && context.input(state).dims.has_value();
    if (!known || context.input(state).dims->size() != 3) continue;
    const Dims& initial = *context.input(state).dims;
    context.RequireEqual(initial[attributes_.batch_first ? 0 : 1], batch);
    context.RequireEqual(initial[attributes_.batch_first ? 1 : 0], directions);
  }
  Dims y = {steps, directions, batch, hidden};
  Dims state = {directions, batch, hidden};
  if (attributes_.batch_first) {
    y = {batch, steps, directions, hidden};
    state = {batch, directions, hidden};
  }
  SetDims(context, 0, std::move(y));
  SetDims(context, 1, state);
  SetDims(context, 2, std::move(state));
}

// The axis of samples: of X, sequence_lens and the initial states.
void Recurrent::Axes(AxesContext& context) const {
  const size_t x = attributes_.batch_first ? 0 : 1;
  const size_t y = attributes_.batch_first ? 0 : 2;
  context.Add({{0, x}, {4, 0}, {5, x}, {6, x}}, {{0, y}, {1, x}, {2, x}});
}

}  // namespace attnrun::ops
