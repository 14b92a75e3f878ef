// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/attention/fused_attention.h"
#include "ops/attention/probabilities_reference.h"
#include "ops/attention/quantized_rows.h"

namespace attnrun::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct FusedHeads {
  std::vector<double> values;
  HeadView view;

  double At(int64_t b, int64_t s, int64_t n, int64_t h) const {
    return values[view.offset + b * view.strides.batch + s * view.strides.sequence +
                  n * view.strides.head + h * view.strides.channel];
  }
};

absl::StatusOr<FusedHeads> Read(const Tensor& tensor, const HeadView& view) {
  FusedHeads heads{.values = {}, .view = view};
  ATTNRUN_ASSIGN_OR_RETURN(heads.values, ToDoubles(tensor));
  return heads;
}

// Bias, mask or sinks. ReadTerm takes `otherwise` for one that is left out.
struct ScoreTerm {
  std::vector<double> values;
  // Strides over batch, heads, queries and keys.
  Shape strides = {0, 0, 0, 0};

  double At(int64_t b, int64_t n, int64_t s, int64_t t) const {
    return values[b * strides[0] + n * strides[1] + s * strides[2] + t * strides[3]];
  }
};

absl::StatusOr<ScoreTerm> ReadTerm(const OpContext& context, int input, double otherwise,
                                   const Shape& scores) {
  ScoreTerm term{.values = {otherwise}};
  if (!context.has_input(input)) return term;
  ATTNRUN_ASSIGN_OR_RETURN(term.values, ToDoubles(context.input(input)));
  ATTNRUN_ASSIGN_OR_RETURN(term.strides, BroadcastStrides(context.input(input).shape(), scores));
  return term;
}

struct Operands {
  FusedAttentionShape shape;
  DataType type = DataType::kUndefined;
  FusedHeads q = {};
  FusedHeads k = {};
  FusedHeads v = {};
  ScoreTerm bias = {};
  ScoreTerm mask = {};
  ScoreTerm sinks = {};
};

absl::StatusOr<Operands> ReadOperands(const OpContext& context, const FusedAttentionShape& shape) {
  using Op = FusedAttention;
  Operands in{.shape = shape, .type = context.input(0).type()};
  ATTNRUN_ASSIGN_OR_RETURN(in.q, Read(context.input(Op::kQuery), shape.q));
  ATTNRUN_ASSIGN_OR_RETURN(in.k, Read(context.input(Op::kKey), shape.k));
  ATTNRUN_ASSIGN_OR_RETURN(in.v, Read(context.input(Op::kValue), shape.v));
  ATTNRUN_ASSIGN_OR_RETURN(in.bias, ReadTerm(context, Op::kBias, 0, shape.ScoresShape()));
  ATTNRUN_ASSIGN_OR_RETURN(in.mask, ReadTerm(context, Op::kMask, 1, shape.ScoresShape()));
  ATTNRUN_ASSIGN_OR_RETURN(in.sinks, ReadTerm(context, Op::kSinks, -kInfinity, shape.SinksShape()));
  return in;
}

absl::StatusOr<std::vector<Tensor>> WithoutRowsOfBytes(const FusedAttention& op,
                                                       const OpContext& context) {
  std::vector<Tensor> inputs(context.num_inputs());
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    inputs[i] = context.input(i);
    if (!FusedAttention::IsRows(i, inputs[i].type())) continue;
    const NarrowForm form = op.FormOfRows(inputs[i].type());
    ATTNRUN_ASSIGN_OR_RETURN(inputs[i], RowsAsFloats(inputs[i], form, context.allocator()));
  }
  return inputs;
}

bool IsUnmaskedByPosition(const FusedAttention& op, int64_t position, int64_t t) {
  if (op.causal() && t > position) return false;
  if (op.left_window() >= 0 && position - t > op.left_window()) return false;
  return op.right_window() < 0 || t - position <= op.right_window();
}

double Score(const FusedAttention& op, const Operands& in, int64_t b, int64_t n, int64_t s,
             int64_t t) {
  if (!IsUnmaskedByPosition(op, s + op.FirstPosition(in.shape), t) || in.mask.At(b, n, s, t) == 0) {
    return op.bias_on_masked() ? AsHeld(in.type, op.mask_value() + in.bias.At(b, n, s, t))
                               : op.mask_value();
  }
  const int64_t kv_head = n / (in.shape.query_heads / in.shape.kv_heads);
  double score = 0;
  for (int64_t h = 0; h < in.shape.head_size; ++h) {
    score += in.q.At(b, s, n, h) * in.k.At(b, t, kv_head, h);
  }
  score *= op.scale();
  const double cap = op.softcap();
  if (cap > 0) score = cap * std::tanh(score / cap);
  return AsHeld(in.type, AsHeld(in.type, score) + in.bias.At(b, n, s, t));
}

absl::Status Set(OpContext& context, int output, const Shape& shape, const Tensor& doubles) {
  if (!context.wants_output(output)) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor tensor, FromDoubles(context.input(0).type(), shape,
                                 absl::MakeSpan(doubles.data<double>(), doubles.num_elements()),
                                 context.allocator()));
  context.SetOutput(output, std::move(tensor));
  return absl::OkStatus();
}

}  // namespace

absl::Status FusedAttention::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, WithoutRowsOfBytes(*this, context));
  const OpContext floats(inputs, {}, context.allocator());
  ATTNRUN_ASSIGN_OR_RETURN(const FusedAttentionShape shape, Resolve(floats));
  ATTNRUN_ASSIGN_OR_RETURN(const Operands in, ReadOperands(floats, shape));
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y, Tensor::Allocate(DataType::kDouble, shape.OutputShape(), context.allocator()));
  const bool wanted = context.wants_output(1);
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor all, Tensor::Allocate(DataType::kDouble, wanted ? shape.ScoresShape() : Shape{0},
                                   context.allocator()));
  auto* out = y.mutable_data<double>();
  for (int64_t row = 0; row < shape.batch * shape.queries * shape.query_heads; ++row) {
    const int64_t n = row % shape.query_heads;
    const int64_t s = row / shape.query_heads % shape.queries;
    const int64_t b = row / shape.query_heads / shape.queries;
    std::vector<double> scores(shape.keys);
    for (int64_t t = 0; t < shape.keys; ++t) scores[t] = Score(*this, in, b, n, s, t);
    scores.push_back(in.sinks.At(b, n, s, 0));
    std::vector<double> weights = Probabilities(scores, MaskedRow(shape));
    weights.pop_back();
    const auto is_nan = [](double weight) { return std::isnan(weight); };
    if (nan_row_is_zero()) std::replace_if(weights.begin(), weights.end(), is_nan, 0.0);
    if (wanted) {
      const int64_t at = (b * shape.query_heads + n) * shape.queries + s;
      std::copy(weights.begin(), weights.end(), all.mutable_data<double>() + at * shape.keys);
    }
    for (int64_t h = 0; h < shape.value_size; ++h) {
      double sum = 0;
      for (int64_t t = 0; t < shape.keys; ++t) {
        sum += weights[t] * in.v.At(b, t, n / (shape.query_heads / shape.kv_heads), h);
      }
      *out++ = sum;
    }
  }
  ATTNRUN_RETURN_IF_ERROR(Set(context, 0, shape.OutputShape(), y));
  return Set(context, 1, shape.ScoresShape(), all);
}

}  // namespace attnrun::ops
