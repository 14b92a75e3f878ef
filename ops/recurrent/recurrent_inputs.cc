// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/recurrent/recurrent_steps.h"

namespace attnrun::ops {
namespace {

// The columns [begin, end) of R[d]ᵀ, for R [D, G * H, H].
StoredMatrix StateWeights(const Tensor& r, int64_t d, int64_t begin, int64_t end) {
  const int64_t hidden = r.dim(2);
  const Tensor rows = r.View({end - begin, hidden}, {hidden, 1}, (d * r.dim(1) + begin) * hidden);
  return StoredMatrix(rows).Transposed();
}

}  // namespace

std::optional<RecurrentExtents> ExtentsOf(const RecurrentAttributes& a, WeightForm form,
                                          const OpContext& context) {
  const Tensor& x = context.input(kX);
  const Tensor& r = context.input(kR);
  if (x.rank() != 3 || r.rank() != 3) return std::nullopt;
  const bool integers = form == WeightForm::kIntegers;
  const int64_t hidden = r.dim(integers ? 1 : 2);
  if (a.hidden_size >= 0 && a.hidden_size != hidden) return std::nullopt;
  const RecurrentExtents e = {.steps = x.dim(a.batch_first ? 1 : 0),
                              .batch = x.dim(a.batch_first ? 0 : 1),
                              .width = x.dim(2),
                              .hidden = hidden,
                              .directions = a.directions(),
                              .columns = a.gates() * hidden,
                              .batch_first = a.batch_first};
  if (x.num_elements() == 0 || hidden == 0) return std::nullopt;
  const auto fits = [&](RecurrentInput i, const Shape& shape) {
    if (!context.has_input(i)) return true;
    return context.input(i).type() == x.type() && context.input(i).shape() == shape;
  };
  const auto is_weight = [&](RecurrentInput i, int64_t depth) {
    if (!integers) return fits(i, {e.directions, e.columns, depth});
    return context.input(i).shape() == Shape{e.directions, depth, e.columns};
  };
  const bool fit = is_weight(kW, e.width) && is_weight(kR, hidden) &&
                   fits(kBias, {e.directions, 2 * e.columns}) && fits(kInitialH, e.StateShape()) &&
                   (a.cell != Cell::kLstm || (fits(kInitialC, e.StateShape()) &&
                                              fits(kPeepholes, {e.directions, 3 * hidden})));
  return fit ? std::optional(e) : std::nullopt;
}

std::optional<std::vector<int64_t>> LengthsOf(const RecurrentExtents& e, const OpContext& context) {
  if (!context.has_input(kLengths)) return std::vector<int64_t>(e.batch, e.steps);
  if (!IsInteger(context.input(kLengths).type())) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> lengths = ToInts(context.input(kLengths));
  if (!lengths.ok() || static_cast<int64_t>(lengths->size()) != e.batch) return std::nullopt;
  for (const int64_t length : *lengths) {
    if (length < 0 || length > e.steps) return std::nullopt;
  }
  return *std::move(lengths);
}

absl::StatusOr<RecurrentWeights> PackWeights(const RecurrentAttributes& a, const Tensor& w,
                                             const Tensor& r, DataType stored,
                                             const KernelContext& context) {
  RecurrentWeights weights;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor rows, w.Reshaped({w.dim(0) * w.dim(1), w.dim(2)}));
  ATTNRUN_ASSIGN_OR_RETURN(weights.input.floats,
                           PackedMatrix::Pack(StoredMatrix(rows).Transposed(), context, stored));
  KernelContext exact = context;
  exact.precision = Precision::kFloat32;
  // One row for each sequence of the batch.
  exact.few_rows = true;
  const bool resets = ResetsBeforeProduct(a);
  const int64_t first = resets ? 2 * r.dim(2) : r.dim(1);
  for (int64_t d = 0; d < r.dim(0); ++d) {
    ATTNRUN_ASSIGN_OR_RETURN(weights.state.emplace_back().floats,
                             PackedMatrix::Pack(StateWeights(r, d, 0, first), exact));
    if (!resets) continue;
    ATTNRUN_ASSIGN_OR_RETURN(weights.candidate.emplace_back().floats,
                             PackedMatrix::Pack(StateWeights(r, d, first, r.dim(1)), exact));
  }
  return weights;
}

}  // namespace attnrun::ops
