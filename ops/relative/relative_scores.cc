// SPDX-License-Identifier: Apache-2.0
#include "ops/relative/relative_scores.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

int64_t Matrices(const Tensor& tensor) {
  int64_t count = 1;
  for (int axis = 0; axis + 2 < tensor.rank(); ++axis) count *= tensor.dim(axis);
  return count;
}

// The sizes of a term, from inputs 3 * term, 3 * term + 1 and 3 * term + 2.
absl::StatusOr<RelativeTerm> TermOf(const OpContext& context, int term) {
  const Tensor& x = context.input(RelativeScores::kInputsPerTerm * term);
  const Tensor& positions = context.input(RelativeScores::kInputsPerTerm * term + 1);
  const Tensor& indices = context.input(RelativeScores::kInputsPerTerm * term + 2);
  const bool ranks = x.rank() >= 2 && positions.rank() >= 2 && indices.rank() >= 1;
  if (ranks && IsFloatingPoint(x.type()) && positions.type() == x.type() &&
      x.dim(x.rank() - 1) == positions.dim(positions.rank() - 1)) {
    RelativeTerm sizes = {.matrices = Matrices(x),
                          .position_matrices = Matrices(positions),
                          .rows = x.dim(x.rank() - 2),
                          .positions = positions.dim(positions.rank() - 2),
                          .size = x.dim(x.rank() - 1),
                          .columns = indices.dim(indices.rank() - 1)};
    Shape pairs = x.shape();
    pairs.back() = sizes.columns;
    const bool rounds = sizes.position_matrices == 0
                            ? sizes.matrices == 0
                            : sizes.matrices % sizes.position_matrices == 0;
    if (rounds && BroadcastStrides(indices.shape(), pairs).ok()) return sizes;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected floats x [...,S,H], positions [...,P,H] and indices [...,T], but term ", term,
      " has ", TypeAndShape(x), ", ", TypeAndShape(positions), " and ", TypeAndShape(indices)));
}

}  // namespace

RelativeScores::RelativeScores(AttributeReader& attributes)
    : scales_(attributes.Required<std::vector<float>>("scales")),
      transposed_(attributes.Required<std::vector<int64_t>>("transposed")) {
  transposed_.resize(scales_.size(), 0);
}

absl::StatusOr<Shape> RelativeScores::Resolve(const OpContext& context,
                                              std::vector<RelativeTerm>* terms) const {
  if (scales_.empty() || context.num_inputs() != kInputsPerTerm * this->terms()) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", kInputsPerTerm * this->terms(),
                                                   " inputs for ", this->terms(),
                                                   " terms, but found ", context.num_inputs()));
  }
  Shape shape;
  for (int term = 0; term < this->terms(); ++term) {
    ATTNRUN_ASSIGN_OR_RETURN(const RelativeTerm sizes, TermOf(context, term));
    const Tensor& positions = context.input(kInputsPerTerm * term + 1);
    ATTNRUN_RETURN_IF_ERROR(CheckStridedIndices(context.input(kInputsPerTerm * term + 2),
                                                positions.rank() - 2, positions));
    Shape of_term = context.input(kInputsPerTerm * term).shape();
    const size_t rank = of_term.size();
    of_term[rank - 2] = transposed(term) ? sizes.columns : sizes.rows;
    of_term[rank - 1] = transposed(term) ? sizes.rows : sizes.columns;
    if (term == 0) shape = of_term;
    if (of_term != shape) {
      return absl::InvalidArgumentError(absl::StrCat("expected terms of one shape, but found ",
                                                     ToString(shape), " and ", ToString(of_term)));
    }
    if (terms != nullptr) terms->push_back(sizes);
  }
  return shape;
}

absl::Status RelativeScores::Reference(OpContext& context) const {
  std::vector<RelativeTerm> terms;
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context, &terms));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(shape));
  std::vector<double> y(size, 0);
  for (int i = 0; i < this->terms(); ++i) {
    const Tensor& indices = context.input(kInputsPerTerm * i + 2);
    ATTNRUN_ASSIGN_OR_RETURN(const auto x, ToDoubles(context.input(kInputsPerTerm * i)));
    ATTNRUN_ASSIGN_OR_RETURN(const auto r, ToDoubles(context.input(kInputsPerTerm * i + 1)));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> index, ToInts(indices));
    Shape pairs = context.input(kInputsPerTerm * i).shape();
    pairs.back() = terms[i].columns;
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(indices.shape(), pairs));
    int64_t pair = 0;
    ForEachOffset(pairs, strides, [&](int64_t offset) {
      const int64_t t = pair % terms[i].columns;
      const int64_t s = pair / terms[i].columns % terms[i].rows;
      const int64_t m = pair / terms[i].columns / terms[i].rows;
      const double* row = x.data() + (m * terms[i].rows + s) * terms[i].size;
      const double* position = r.data() + (m % terms[i].position_matrices * terms[i].positions +
                                           WrapIndex(index[offset], terms[i].positions)) *
                                              terms[i].size;
      double sum = 0;
      for (int64_t h = 0; h < terms[i].size; ++h) sum += row[h] * position[h];
      const int64_t at = transposed(i) ? t * terms[i].rows + s : s * terms[i].columns + t;
      y[m * terms[i].rows * terms[i].columns + at] += scale(i) * sum;
      ++pair;
    });
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out,
                           FromDoubles(context.input(0).type(), shape, y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

void RelativeScores::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  const std::optional<Dims>& indices = context.input(2).dims;
  if (dims.has_value() && dims->size() >= 2 && terms() > 0) {
    const bool known = indices.has_value() && !indices->empty();
    dims->back() = known ? indices->back() : SymInt::Unknown();
    if (transposed(0)) std::swap((*dims)[dims->size() - 2], dims->back());
  } else {
    dims.reset();
  }
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops
