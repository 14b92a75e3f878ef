// SPDX-License-Identifier: Apache-2.0
// Inference of searching operators.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/search/arg.h"
#include "ops/search/nonzero.h"
#include "ops/search/topk.h"
#include "ops/search/unique.h"

namespace attnrun::ops {

void ArgOp::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  if (dims.has_value()) {
    const std::optional<size_t> axis = KnownAxis(axis_, dims->size());
    if (!axis.has_value()) return;
    context.Require((*dims)[*axis] - 1);
    (*dims)[*axis] = 1;
    if (!keep_dims_) dims->erase(dims->begin() + static_cast<int64_t>(*axis));
  }
  context.SetOutput(0, {DataType::kInt64, std::move(dims), std::nullopt});
}

void TopK::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  if (dims.has_value()) {
    const std::optional<size_t> axis = KnownAxis(axis_, dims->size());
    if (!axis.has_value()) return;
    (*dims)[*axis] = from_input_ ? OnlyElement(context, 1).value_or(SymInt::Unknown()) : k_;
  }
  SetDims(context, 0, dims);
  context.SetOutput(1, {DataType::kInt64, std::move(dims), std::nullopt});
}

void NonZero::Infer(InferContext& context) const {
  Dims dims = UnknownDims(2);
  const std::optional<Dims>& x = context.input(0).dims;
  if (x.has_value()) dims[0] = static_cast<int64_t>(x->size());
  context.SetOutput(0, {DataType::kInt64, std::move(dims), std::nullopt});
}

void Unique::Infer(InferContext& context) const {
  const SymInt count = SymInt::Unknown();
  SymInt length = SymInt::Unknown();
  std::optional<Dims> dims = context.input(0).dims;
  if (!axis_.has_value()) {
    if (dims.has_value()) length = Product(*dims);
    dims = Dims{count};
  } else if (dims.has_value()) {
    const std::optional<size_t> axis = KnownAxis(*axis_, dims->size());
    if (!axis.has_value()) return;
    length = std::exchange((*dims)[*axis], count);
  }
  SetDims(context, 0, std::move(dims));
  for (int i = 1; i < 4; ++i) {
    context.SetOutput(i, {DataType::kInt64, Dims{i == 2 ? length : count}, std::nullopt});
  }
}

void ArgOp::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> axis = KnownAxis(axis_, rank);
  if (!axis.has_value()) return;
  if (keep_dims_) return AddOtherAxes(context, axis_);
  std::vector<bool> dropped(rank, false);
  dropped[*axis] = true;
  AddRemainingAxes(context, dropped);
}

void TopK::Axes(AxesContext& context) const { AddOtherAxes(context, axis_); }

}  // namespace attnrun::ops
