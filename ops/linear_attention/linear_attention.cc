// SPDX-License-Identifier: Apache-2.0
#include "ops/linear_attention/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

absl::Status CheckFloats(const OpContext& context, int i, absl::string_view name,
                         const Shape& expected) {
  const Tensor& tensor = context.input(i);
  if (IsFloatingPoint(tensor.type()) && tensor.shape() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", name, " of floats ", ToString(expected), ", but found ", TypeAndShape(tensor)));
}

absl::Status CheckHeads(const LinearAttentionAttributes& attributes, const Tensor& query,
                        const Tensor& value) {
  const int64_t q = attributes.query_heads;
  const int64_t heads = attributes.heads;
  const bool multiple = q > 0 && heads > 0 && (q % heads == 0 || heads % q == 0);
  if (multiple && query.rank() == 3 && value.rank() == 3 && query.dim(2) % q == 0 &&
      value.dim(2) % heads == 0 && query.dim(2) > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected query [B,T,q_num_heads*dk] and value [B,T,kv_num_heads*dv] with heads that are "
      "multiples of each other, but found ",
      TypeAndShape(query), " of ", q, " heads and ", TypeAndShape(value), " of ", heads));
}

void SetKeyHeads(const Tensor& key, bool may_share, LinearAttentionShape& shape) {
  shape.key_heads = key.rank() == 3 ? key.dim(2) / shape.key_size : 0;
  const bool divides = may_share && shape.key_heads > 0 && shape.heads % shape.key_heads == 0;
  if (!divides) shape.key_heads = shape.heads;
  shape.key_sharers = shape.heads / shape.key_heads;
}

absl::Status CheckGates(const LinearAttentionAttributes& attributes, const OpContext& context,
                        LinearAttentionShape& shape) {
  const bool fits =
      context.has_input(4) == attributes.gated && context.has_input(5) == attributes.delta;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected decay only with a gated update_rule, and beta only with a delta rule, but found ",
        context.has_input(4) ? "decay" : "no decay", " and ",
        context.has_input(5) ? "beta" : "no beta"));
  }
  if (attributes.gated) {
    const Tensor& decay = context.input(4);
    shape.decay_per_key = decay.rank() != 3 || decay.dim(2) != shape.heads;
    const int64_t width = shape.heads * (shape.decay_per_key ? shape.key_size : 1);
    ATTNRUN_RETURN_IF_ERROR(CheckFloats(context, 4, "decay", {shape.batch, shape.tokens, width}));
  }
  if (!attributes.delta) return absl::OkStatus();
  const Tensor& beta = context.input(5);
  shape.beta_per_head = beta.rank() != 3 || beta.dim(2) != 1;
  const int64_t width = shape.beta_per_head ? shape.heads : 1;
  return CheckFloats(context, 5, "beta", {shape.batch, shape.tokens, width});
}

}  // namespace

LinearAttention::LinearAttention(AttributeReader& attributes) : attributes_{} {
  const std::string rule =
      attributes.OneOf("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  attributes_.gated = rule == "gated" || rule == "gated_delta";
  attributes_.delta = rule == "delta" || rule == "gated_delta";
  attributes_.query_heads = attributes.Required<int64_t>("q_num_heads");
  attributes_.heads = attributes.Required<int64_t>("kv_num_heads");
  attributes_.scale = attributes.Float("scale", 0);
  // A hint for implementations that cut the sequence into chunks.
  attributes.Ignore("chunk_size");
  if (attributes.node().domain().empty()) return;
  attributes_.keys_may_share = true;
  attributes_.window = attributes.Int("state_window", 0);
}

absl::StatusOr<LinearAttentionShape> ResolveLinearAttention(
    const LinearAttentionAttributes& attributes, const OpContext& context) {
  const Tensor& query = context.input(0);
  const Tensor& value = context.input(2);
  ATTNRUN_RETURN_IF_ERROR(CheckHeads(attributes, query, value));
  if (attributes.window < 0 || attributes.window > kMostStateWindow) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a state_window of 0 to ", kMostStateWindow, ", but found ", attributes.window));
  }
  LinearAttentionShape shape = {};
  shape.batch = query.dim(0);
  shape.tokens = query.dim(1);
  shape.heads = attributes.heads;
  shape.query_heads = attributes.query_heads;
  shape.readers = std::max<int64_t>(1, shape.query_heads / shape.heads);
  shape.sharers = std::max<int64_t>(1, shape.heads / shape.query_heads);
  shape.key_size = query.dim(2) / shape.query_heads;
  shape.value_size = value.dim(2) / shape.heads;
  shape.scale =
      attributes.scale != 0 ? attributes.scale : 1 / std::sqrt(static_cast<double>(shape.key_size));
  SetKeyHeads(context.input(1), attributes.keys_may_share, shape);
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(context, 0, "query", query.shape()));
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(
      context, 1, "key", {shape.batch, shape.tokens, shape.key_heads * shape.key_size}));
  ATTNRUN_RETURN_IF_ERROR(
      CheckFloats(context, 2, "value", {shape.batch, shape.tokens, value.dim(2)}));
  ATTNRUN_RETURN_IF_ERROR(CheckGates(attributes, context, shape));
  shape.output = {shape.batch, shape.tokens, shape.heads * shape.readers * shape.value_size};
  shape.state = {shape.batch, shape.heads, shape.key_size, shape.value_size};
  if (attributes.window > 0) shape.state.insert(shape.state.begin(), attributes.window);
  if (context.has_input(3)) {
    ATTNRUN_RETURN_IF_ERROR(CheckFloats(context, 3, "past_state", shape.state));
  }
  return shape;
}

void LinearAttention::Infer(InferContext& context) const {
  const std::optional<Dims>& query = context.input(0).dims;
  const std::optional<Dims>& value = context.input(2).dims;
  const bool has_past = context.has_input(3);
  const int64_t q = attributes_.query_heads;
  const int64_t heads = attributes_.heads;
  ValueFacts state = {has_past ? context.input(3).type : context.input(0).type, std::nullopt,
                      std::nullopt};
  if (has_past) state.dims = context.input(3).dims;
  std::optional<Dims> output;
  const bool known = query.has_value() && query->size() == 3 && value.has_value() &&
                     value->size() == 3 && q > 0 && heads > 0;
  if (known) {
    const SymInt value_size = SymInt::Quotient((*value)[2], heads);
    output = Dims{(*query)[0], (*query)[1], std::max(q, heads) * value_size};
    Dims dims = {(*query)[0], heads, SymInt::Quotient((*query)[2], q), value_size};
    if (attributes_.window > 0) dims.insert(dims.begin(), attributes_.window);
    const bool has_rank = state.dims.has_value() && state.dims->size() == dims.size();
    for (size_t i = 0; has_rank && i < dims.size(); ++i) {
      context.RequireEqual((*state.dims)[i], dims[i]);
    }
    if (!state.dims.has_value()) state.dims = std::move(dims);
  }
  SetDims(context, 0, std::move(output));
  context.SetOutput(1, std::move(state));
}

// The samples; heads are inside an axis.
void LinearAttention::Axes(AxesContext& context) const {
  const size_t state = attributes_.window > 0 ? 1 : 0;
  context.Add({{0, 0}, {1, 0}, {2, 0}, {3, state}, {4, 0}, {5, 0}}, {{0, 0}, {1, state}});
}

}  // namespace attnrun::ops
