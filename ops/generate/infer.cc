// SPDX-License-Identifier: Apache-2.0
// Inference for operators that make tensors from attributes, shapes and scalars.
#include <algorithm>
#include <utility>

#include "ops/generate/constant.h"
#include "ops/generate/onehot.h"
#include "ops/generate/random.h"
#include "ops/generate/range.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// Output 0 has the shape of input 0 and `type`, or input 0's type if `type` is undefined.
void SetLikeInput(InferContext& context, DataType type) {
  const ValueFacts& x = context.input(0);
  context.SetOutput(0, {type == DataType::kUndefined ? x.type : type, x.dims, std::nullopt});
}

// The number of integers that Range gives.
SymInt InferRangeLength(const InferContext& context, const SymInt& start, const SymInt& limit,
                        const SymInt& delta) {
  const std::optional<int64_t> a = start.constant();
  const std::optional<int64_t> b = limit.constant();
  const std::optional<int64_t> step = delta.constant();
  if (a.has_value() && b.has_value() && step.has_value()) {
    const absl::StatusOr<int64_t> length = RangeLength(*a, *b, *step);
    return length.ok() ? SymInt(*length) : SymInt::Unknown();
  }
  if (step == 1 && context.IsNeverNegative(limit - start)) return limit - start;
  return SymInt::Opaque("range", SymInt::Opaque("from", start, limit), delta);
}

}  // namespace

void Constant::Infer(InferContext& context) const {
  if (value_.ok()) context.SetOutput(0, FactsOf(*value_));
}

void ConstantOfShape::Infer(InferContext& context) const {
  if (!value_.ok()) return;
  ValueFacts facts{value_->type(), context.input(0).contents, std::nullopt};
  if (const std::optional<size_t> rank = KnownLength(context, 0);
      rank.has_value() && !facts.dims.has_value()) {
    facts.dims = UnknownDims(*rank);
  }
  // The value, one element, may have any rank; facts hold contents only up to rank 1.
  const absl::StatusOr<Tensor> value = value_->Reshaped({});
  const std::optional<int64_t> count = facts.dims.has_value() && facts.dims->size() <= 1
                                           ? Product(*facts.dims).constant()
                                           : std::nullopt;
  if (value.ok() && count.has_value() && *count >= 0 &&
      *count <= static_cast<int64_t>(kMaxContents)) {
    const ValueFacts element = FactsOf(*value);
    if (element.contents.has_value()) {
      facts.contents.emplace(static_cast<size_t>(*count), element.contents->front());
    }
  }
  context.SetOutput(0, std::move(facts));
}

void Range::Infer(InferContext& context) const {
  const std::optional<SymInt> start = OnlyElement(context, 0);
  const std::optional<SymInt> limit = OnlyElement(context, 1);
  const std::optional<SymInt> delta = OnlyElement(context, 2);
  SetDims(context, 0, UnknownDims(1));
  if (!start.has_value() || !limit.has_value() || !delta.has_value()) return;
  ValueFacts facts{context.input(0).type, Dims{InferRangeLength(context, *start, *limit, *delta)},
                   std::nullopt};
  const std::optional<int64_t> length = facts.dims->front().constant();
  if (length.has_value() && *length <= static_cast<int64_t>(kMaxContents)) {
    facts.contents.emplace();
    for (int64_t i = 0; i < *length; ++i) facts.contents->push_back(*start + i * *delta);
  }
  context.SetOutput(0, std::move(facts));
}

void OneHot::Infer(InferContext& context) const {
  const DataType type = context.input(2).type;
  context.SetOutput(0, {type, std::nullopt, std::nullopt});
  std::optional<Dims> dims = context.input(0).dims;
  if (!dims.has_value()) return;
  const std::optional<size_t> axis = KnownAxis(axis_, dims->size() + 1);
  if (!axis.has_value()) return;
  dims->insert(dims->begin() + static_cast<int64_t>(*axis),
               OnlyElement(context, 1).value_or(SymInt::Unknown()));
  context.SetOutput(0, {type, std::move(dims), std::nullopt});
}

void EyeLike::Infer(InferContext& context) const { SetLikeInput(context, type_); }

void Bernoulli::Infer(InferContext& context) const { SetLikeInput(context, type_); }

void Multinomial::Infer(InferContext& context) const {
  const Dims x = context.input(0).dims.value_or(UnknownDims(2));
  if (x.size() == 2) context.SetOutput(0, {type_, Dims{x[0], sample_size_}, std::nullopt});
}

void RandomOp::Infer(InferContext& context) const {
  if (like_) return SetLikeInput(context, type_);
  context.SetOutput(0, {type_, Dims(shape_.begin(), shape_.end()), std::nullopt});
}

void OneHot::Axes(AxesContext& context) const {
  const std::optional<size_t> rank = RankOf(context, 0);
  const std::optional<size_t> added = KnownAxis(axis_, rank.value_or(0) + 1);
  if (!rank.has_value() || !added.has_value()) return;
  for (size_t axis = 0; axis < *rank; ++axis) {
    context.Add({{0, axis}}, {{0, axis < *added ? axis : axis + 1}});
  }
}

}  // namespace attnrun::ops
