// SPDX-License-Identifier: Apache-2.0
#include "ops/embedding/embedding_sum.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

absl::Status CheckTable(const Tensor& table, const Tensor& first) {
  const bool fits = table.rank() == 2 && IsFloatingPoint(table.type()) &&
                    table.type() == first.type() && table.dim(1) == first.dim(1);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected tables of equal width, but found ",
                                                 TypeAndShape(table), " and ",
                                                 TypeAndShape(first)));
}

}  // namespace

absl::StatusOr<Shape> EmbeddingSum::Resolve(const OpContext& context) {
  const Tensor& first = context.input(0);
  const Tensor& ids = context.input(1);
  if (first.rank() != 2 || ids.rank() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("expected a matrix and ids of rank 1 or more, ",
                                                   "but found ", TypeAndShape(first), " and ",
                                                   TypeAndShape(ids)));
  }
  for (int i = 0; i < 2 * Pairs(context.num_inputs()); i += 2) {
    ATTNRUN_RETURN_IF_ERROR(CheckTable(context.input(i), first));
    ATTNRUN_RETURN_IF_ERROR(CheckIndices(context.input(i + 1), 0, context.input(i)));
    if (context.input(i + 1).shape() == ids.shape()) continue;
    return absl::InvalidArgumentError(absl::StrCat("expected ids of one shape, but found ",
                                                   TypeAndShape(context.input(i + 1)), " and ",
                                                   TypeAndShape(ids)));
  }
  Shape shape = ids.shape();
  const int64_t count = shape.back();
  shape.push_back(first.dim(1));
  if (context.num_inputs() % 2 == 0) return shape;
  const Tensor& positions = context.input(context.num_inputs() - 1);
  ATTNRUN_RETURN_IF_ERROR(CheckTable(positions, first));
  if (positions.dim(0) >= count) return shape;
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a table of at least ", count, " positions, but found ", TypeAndShape(positions)));
}

void EmbeddingSum::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(0).type;
  const auto& table = context.input(0).dims;
  const auto& ids = context.input(1).dims;
  if (table.has_value() && table->size() == 2 && ids.has_value()) {
    y.dims = ids;
    y.dims->push_back((*table)[1]);
  }
  context.SetOutput(0, std::move(y));
  const auto rows = [&](int i) {
    const auto& dims = context.input(i).dims;
    return dims.has_value() && !dims->empty() ? dims->front() : SymInt::Unknown();
  };
  const int inputs = context.num_inputs();
  for (int i = 0; i < 2 * Pairs(inputs); i += 2) context.RequireIndices(i + 1, rows(i));
  const bool counts = inputs % 2 == 1 && ids.has_value() && !ids->empty();
  if (counts) context.Require(rows(inputs - 1) - ids->back());
}

// The axes of the ids, whose last one is the positions' first, then the last axis of the tables.
void EmbeddingSum::Axes(AxesContext& context) const {
  const std::optional<size_t> rank = RankOf(context, 1);
  if (!rank.has_value()) return;
  const int inputs = context.num_inputs();
  const int positions = inputs % 2 == 1 ? inputs - 1 : -1;
  for (size_t axis = 0; axis <= *rank; ++axis) {
    const bool of_ids = axis < *rank;
    AxisTrack track = context.Track({}, {{0, axis}});
    for (int i = 0; i < Pairs(inputs); ++i) {
      track.inputs[of_ids ? 2 * i + 1 : 2 * i] = of_ids ? static_cast<int>(axis) : 1;
    }
    if (positions >= 0 && axis + 1 >= *rank) track.inputs[positions] = of_ids ? 0 : 1;
    context.Add(std::move(track));
  }
}

}  // namespace attnrun::ops
