// SPDX-License-Identifier: Apache-2.0
// Inference of reductions.
#include <algorithm>
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/reduce/reduce.h"

namespace attnrun::ops {
namespace {

SymInt Reduced(Reduction reduction, const std::vector<SymInt>& elements) {
  SymInt result = reduction == Reduction::kProd ? 1 : 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const SymInt& next = elements[i];
    if (reduction == Reduction::kSum) {
      result = result + next;
    } else if (reduction == Reduction::kProd) {
      result = result * next;
    } else if (i == 0 ||
               (reduction == Reduction::kMax ? next - result : result - next).IsNeverNegative()) {
      result = next;
    } else if (!(reduction == Reduction::kMax ? result - next : next - result).IsNeverNegative()) {
      result = SymInt::Opaque(reduction == Reduction::kMax ? "max" : "min", result, next);
    }
  }
  return result;
}

// The contents of a reduced list of integers. Extents and their products are assumed to fit their
// type.
std::optional<std::vector<SymInt>> ReducedContents(Reduction reduction, const ValueFacts& x,
                                                   const std::vector<bool>& reduced) {
  const bool compares = reduction == Reduction::kMax || reduction == Reduction::kMin;
  const bool covered = compares || reduction == Reduction::kSum || reduction == Reduction::kProd;
  if (!covered || (x.type != DataType::kInt64 && x.type != DataType::kInt32) ||
      !x.contents.has_value() || reduced.size() > 1) {
    return std::nullopt;
  }
  if (reduced.empty() || !reduced[0]) return x.contents;
  if (compares && x.contents->empty()) return std::nullopt;
  return std::vector<SymInt>{Reduced(reduction, *x.contents)};
}

}  // namespace

std::optional<std::vector<bool>> Reduce::InferReduced(const KnownInputs& inputs,
                                                      size_t rank) const {
  std::optional<std::vector<int64_t>> axes = axes_;
  if (inputs.has_input(1)) axes = KnownInts(inputs, 1);
  if (!axes.has_value()) return std::nullopt;
  std::vector<bool> reduced(rank, axes->empty() && !empty_is_none_);
  for (const int64_t named : *axes) {
    // A scalar may be reduced as if it had one axis.
    const std::optional<size_t> axis = KnownAxis(named, std::max<size_t>(rank, 1));
    if (!axis.has_value()) return std::nullopt;
    if (*axis < rank) reduced[*axis] = true;
  }
  return reduced;
}

void Reduce::Infer(InferContext& context) const {
  const ValueFacts& x = context.input(0);
  ValueFacts facts{x.type, std::nullopt, std::nullopt};
  if (x.dims.has_value()) {
    const std::optional<std::vector<bool>> reduced = InferReduced(context, x.dims->size());
    if (reduced.has_value()) {
      facts.dims.emplace();
      for (size_t i = 0; i < x.dims->size(); ++i) {
        if (!(*reduced)[i]) facts.dims->push_back((*x.dims)[i]);
        if ((*reduced)[i] && keep_axes_) facts.dims->emplace_back(1);
      }
      facts.contents = ReducedContents(reduction_, x, *reduced);
    } else if (keep_axes_) {
      facts.dims = UnknownDims(x.dims->size());
    }
  }
  context.SetOutput(0, std::move(facts));
}

void Reduce::Axes(AxesContext& context) const {
  const std::optional<std::vector<bool>> reduced =
      InferReduced(context, RankOf(context, 0).value_or(0));
  if (!reduced.has_value()) return;
  if (!keep_axes_) return AddRemainingAxes(context, *reduced);
  AddSameAxes(context, [&](size_t axis) { return !(*reduced)[axis]; });
}

}  // namespace attnrun::ops
