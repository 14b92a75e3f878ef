// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/flex_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// The executor runs the graph; reading it here checks its kind.
bool ReadGraph(AttributeReader& attributes, absl::string_view name) {
  return attributes.Get<std::shared_ptr<Graph>>(name).has_value();
}

absl::Status CheckInputs(const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool ranks = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  const bool types = IsFloatingPoint(q.type()) && k.type() == q.type() && v.type() == q.type();
  if (ranks && types && k.dim(0) == q.dim(0) && v.dim(0) == q.dim(0) && k.dim(1) > 0 &&
      q.dim(1) % k.dim(1) == 0 && v.dim(1) == k.dim(1) && v.dim(2) == k.dim(2) &&
      k.dim(3) == q.dim(3)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected q [B,N,S,H], k [B,M,T,H] and v [B,M,T,W] of one floating-point type, N a multiple "
      "of M, but found ",
      TypeAndShape(q), ", ", TypeAndShape(k), " and ", TypeAndShape(v)));
}

void Softmax(std::vector<double>& rows, int64_t length) {
  for (size_t i = 0; length > 0 && i < rows.size(); i += length) {
    const auto row = rows.begin() + static_cast<int64_t>(i);
    const double greatest = *std::max_element(row, row + length);
    double sum = 0;
    for (int64_t j = 0; j < length; ++j) sum += row[j] = std::exp(row[j] - greatest);
    for (int64_t j = 0; j < length; ++j) row[j] /= sum;
  }
}

// a [rows, inner] times b, whose element (i, j) is b[i * step + j * stride], for `columns` columns.
void Multiply(const double* a, int64_t rows, int64_t inner, const double* b, int64_t step,
              int64_t stride, int64_t columns, double scale, double* c) {
  for (int64_t i = 0; i < rows * columns; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum += a[i / columns * inner + k] * b[k * step + i % columns * stride];
    }
    c[i] = scale * sum;
  }
}

}  // namespace

FlexAttention::FlexAttention(AttributeReader& attributes)
    : has_score_mod_(ReadGraph(attributes, "score_mod")),
      has_prob_mod_(ReadGraph(attributes, "prob_mod")),
      scale_(attributes.Get<float>("scale")),
      precision_(attributes.ElementType("softmax_precision", DataType::kUndefined)) {}

absl::StatusOr<Tensor> FlexAttention::Modified(OpContext& context, bool has_graph,
                                               const char* graph, Tensor tensor) {
  if (!has_graph) return tensor;
  std::vector<Tensor> results;
  ATTNRUN_RETURN_IF_ERROR(context.subgraphs()->Run(graph, {tensor}, results));
  if (results.size() == 1 && results[0].type() == tensor.type() &&
      results[0].shape() == tensor.shape()) {
    return results[0].Dense(context.allocator());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", graph, " to give one ", TypeAndShape(tensor), ", but it gives ",
      results.size() == 1 ? TypeAndShape(results[0]) : absl::StrCat(results.size(), " outputs")));
}

absl::Status FlexAttention::Reference(OpContext& context) const {
  const Tensor& q = context.input(0);
  const Tensor& k = context.input(1);
  const Tensor& v = context.input(2);
  ATTNRUN_RETURN_IF_ERROR(CheckInputs(q, k, v));
  const DataType own = q.type() == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  const DataType type = precision_ == DataType::kUndefined ? own : precision_;
  const Shape shape = {q.dim(0), q.dim(1), q.dim(2), k.dim(2)};
  // The memory limit applies to the scores before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor scores, Tensor::Allocate(type, shape, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> queries, ToDoubles(q));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> keys, ToDoubles(k));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(v));
  const int64_t size = q.dim(3);
  const int64_t width = v.dim(3);
  const int64_t heads = q.dim(0) * q.dim(1);
  const int64_t shared = q.dim(1) / k.dim(1);
  const double scale = scale_.value_or(1 / std::sqrt(static_cast<float>(size)));
  std::vector<double> rows(scores.num_elements());
  for (int64_t i = 0; i < heads && !Interrupted(); ++i) {
    Multiply(queries.data() + i * shape[2] * size, shape[2], size,
             keys.data() + i / shared * shape[3] * size, 1, size, shape[3], scale,
             rows.data() + i * shape[2] * shape[3]);
  }
  ATTNRUN_ASSIGN_OR_RETURN(scores, FromDoubles(type, shape, rows, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(scores,
                           Modified(context, has_score_mod_, "score_mod", std::move(scores)));
  ATTNRUN_ASSIGN_OR_RETURN(rows, ToDoubles(scores));
  Softmax(rows, shape[3]);
  ATTNRUN_ASSIGN_OR_RETURN(scores, FromDoubles(type, shape, rows, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(scores, Modified(context, has_prob_mod_, "prob_mod", std::move(scores)));
  ATTNRUN_ASSIGN_OR_RETURN(rows, ToDoubles(scores));
  const Shape output = {shape[0], shape[1], shape[2], width};
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, q.type(), output));
  std::vector<double> results(y->num_elements());
  for (int64_t i = 0; i < heads && !Interrupted(); ++i) {
    Multiply(rows.data() + i * shape[2] * shape[3], shape[2], shape[3],
             values.data() + i / shared * shape[3] * width, width, 1, width, 1,
             results.data() + i * shape[2] * width);
  }
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(q.type(), output, results, context.allocator()));
  return absl::OkStatus();
}

void FlexAttention::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  const std::optional<Dims>& q = context.input(0).dims;
  const std::optional<Dims>& v = context.input(2).dims;
  if (!q.has_value() || q->size() != 4) return;
  Dims dims = *q;
  dims[3] = v.has_value() && v->size() == 4 ? (*v)[3] : SymInt::Unknown();
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops
