// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/infer_rules.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace attnrun::ops {

std::optional<std::vector<int64_t>> KnownInts(const KnownInputs& inputs, int i) {
  if (!inputs.has_input(i) || !inputs.input(i).contents.has_value()) return std::nullopt;
  std::vector<int64_t> values;
  for (const SymInt& element : *inputs.input(i).contents) {
    if (!element.constant().has_value()) return std::nullopt;
    values.push_back(*element.constant());
  }
  return values;
}

std::optional<SymInt> OnlyElement(const KnownInputs& inputs, int i) {
  return inputs.has_input(i) ? inputs.input(i).OnlyElement() : std::nullopt;
}

std::optional<size_t> KnownLength(const KnownInputs& inputs, int i) {
  if (!inputs.has_input(i)) return std::nullopt;
  const ValueFacts& facts = inputs.input(i);
  if (facts.contents.has_value()) return facts.contents->size();
  if (!facts.dims.has_value() || facts.dims->size() > 1) return std::nullopt;
  const std::optional<int64_t> length = Product(*facts.dims).constant();
  // A list that a failing node would make may have fewer elements than none.
  constexpr auto kMost = static_cast<int64_t>(kMaxContents);
  if (!length.has_value() || *length < 0 || *length > kMost) return std::nullopt;
  return static_cast<size_t>(*length);
}

std::optional<size_t> KnownAxis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

Dims UnknownDims(size_t rank) {
  Dims dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(SymInt::Unknown());
  return dims;
}

SymInt Same(const SymInt& a, const SymInt& b) {
  if (a == b || a.constant().has_value()) return a;
  if (b.constant().has_value()) return b;
  // A known extent beats an unknown one, and a short expression a long one, since it is more likely
  // to occur elsewhere: seq rather than the 1+slice(seq,...) of tokens that were shifted and
  // padded.
  const auto vagueness = [](const SymInt& extent) {
    return std::pair(!extent.IsNeverNegative(), extent.ToString().size());
  };
  return vagueness(b) < vagueness(a) ? b : a;
}

ValueFacts VectorOf(DataType type, std::vector<SymInt> contents) {
  ValueFacts facts{type, Dims{static_cast<int64_t>(contents.size())}, std::nullopt};
  if (contents.size() <= kMaxContents) facts.contents = std::move(contents);
  return facts;
}

void SetDims(InferContext& context, int i, std::optional<Dims> dims) {
  context.SetOutput(i, {context.input(0).type, std::move(dims), std::nullopt});
}

void InferLikeInput(InferContext& context) { SetDims(context, 0, context.input(0).dims); }

}  // namespace attnrun::ops
