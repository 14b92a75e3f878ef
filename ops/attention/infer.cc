// SPDX-License-Identifier: Apache-2.0
// Inference of types and shapes for the operators of this folder.
#include <utility>

#include "ops/attention/attention.h"
#include "ops/attention/rotary_embedding.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// The extents [batch, heads, sequence, size] of Q, K or V in either layout; unknown ones if its
// shape is unknown.
Dims SplitHeads(const std::optional<Dims>& dims, int64_t heads) {
  if (!dims.has_value()) return UnknownDims(4);
  if (dims->size() == 4) return *dims;
  if (dims->size() != 3 || heads < 1) return UnknownDims(4);
  return {(*dims)[0], heads, (*dims)[1], SymInt::Quotient((*dims)[2], heads)};
}

// Merges the past's extents into those of K or V, and adds the past to their sequence.
void Append(InferContext& context, int past_input, Dims& dims) {
  if (!context.has_input(past_input)) return;
  const Dims past = context.input(past_input).dims.value_or(UnknownDims(4));
  if (past.size() != 4) return;
  for (const int axis : {0, 1, 3}) {
    context.RequireEqual(past[axis], dims[axis]);
    dims[axis] = Same(dims[axis], past[axis]);
  }
  dims[2] = past[2] + dims[2];
}

}  // namespace

void Attention::Infer(InferContext& context) const {
  const std::optional<Dims>& q_dims = context.input(0).dims;
  const DataType type = context.input(0).type;
  const DataType value_type = context.input(2).type;
  Dims q = SplitHeads(q_dims, query_heads_);
  Dims k = SplitHeads(context.input(1).dims, kv_heads_);
  Dims v = SplitHeads(context.input(2).dims, kv_heads_);
  for (const Dims& other : {k, v}) q[0] = Same(q[0], other[0]);
  // K and V have the same length, and so have the past keys and values that are put before them.
  k[2] = Same(k[2], v[2]);
  v[2] = k[2];
  k[1] = Same(k[1], v[1]);
  k[3] = Same(k[3], q[3]);
  Append(context, kPastKey, k);
  Append(context, kPastValue, v);
  const Dims present_value = {q[0], k[1], k[2], v[3]};
  std::optional<Dims> y;
  if (q_dims.has_value() && q_dims->size() == 3) y = Dims{q[0], q[2], q[1] * v[3]};
  if (q_dims.has_value() && q_dims->size() == 4) y = Dims{q[0], q[1], q[2], v[3]};
  context.SetOutput(0, {type, std::move(y), std::nullopt});
  context.SetOutput(1, {type, Dims{q[0], k[1], k[2], k[3]}, std::nullopt});
  context.SetOutput(2, {value_type, present_value, std::nullopt});
  context.SetOutput(3, {type, Dims{q[0], q[1], q[2], k[2]}, std::nullopt});
}

void RotaryEmbedding::Infer(InferContext& context) const { InferLikeInput(context); }

}  // namespace attnrun::ops
