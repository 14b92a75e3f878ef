// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/bias.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/elements.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rules/attention/score_steps.h"

namespace attnrun::opt {
namespace {

// True if no element can be below `floor`, which a choice between two numbers shows.
bool IsAtLeast(const ScoreBias& bias, double floor, Facts& facts) {
  if (bias.mask_value.has_value()) return *bias.mask_value * bias.factor >= floor;
  return bias.factor == 1 && LeastOf(bias.operand.value, facts).value_or(-INFINITY) >= floor;
}

// A bool mask as a bias: the sum of those before it, or 0, and the mask value where the mask
// excludes a key. It is not added: a key that is masked twice is no lower than others, and a row
// may have no others.
Value* MaskedSum(Patch& patch, Value* mask, const ScoreBias& bias, Value* sum, DataType type) {
  Value* unmasked = sum != nullptr ? sum : patch.Number("unmasked", type, 0);
  Value* masked = patch.Number("masked", type, bias.mask_value.value_or(-INFINITY) * bias.factor);
  if (bias.negated) std::swap(unmasked, masked);
  return patch.Op("Where", {mask, unmasked, masked});
}

// An operand that broadcasts to the scores of the graph so that it broadcasts to [B,N,S,T]. Extents
// that are not numbers are read off `like`. Null if that cannot be written.
Value* ToHeadAxes(Patch& patch, const ScoreTerm& operand, const HeadAxes& axes,
                  absl::Span<Value* const> like) {
  const auto map = AxisMap::Between(operand.scores.axes(), axes.view.axes());
  return map.has_value() ? map->Apply(patch, operand.value, like) : nullptr;
}

// Adds up the biases from `i` on that enter where the scores lie in other places than in [B,N,S,T],
// so that they are rearranged once. Moves `i` behind the last of them.
ScoreBias NextBias(Patch& patch, const Scores& scores, const HeadAxes& axes, size_t& i) {
  ScoreBias bias = scores.biases[i++];
  const auto scaled = [&](const ScoreBias& of) { return patch.Times(of.operand.value, of.factor); };
  const auto joins = [&](const ScoreBias& next) {
    return !next.mask_value.has_value() && next.operand.scores == bias.operand.scores;
  };
  if (bias.operand.scores == axes.view || bias.mask_value.has_value()) return bias;
  for (; i < scores.biases.size() && i != scores.floored && joins(scores.biases[i]); ++i) {
    bias.operand.value = patch.Op("Add", {scaled(bias), scaled(scores.biases[i])});
    bias.factor = 1;
  }
  return bias;
}

// The type of the sum. Masks take that of the biases, one of which follows them.
DataType TypeOfBiases(const Scores& scores, Facts& facts) {
  for (const ScoreBias& bias : scores.biases) {
    if (!bias.mask_value.has_value()) return facts.TypeOf(bias.operand.value);
  }
  return DataType::kFloat;
}

}  // namespace

Value* SumOfBiases(Patch& patch, const Scores& scores, const HeadAxes& axes,
                   absl::Span<Value* const> like, bool& ok) {
  Value* sum = nullptr;
  const DataType type = TypeOfBiases(scores, patch.facts());
  for (size_t i = 0; i < scores.biases.size();) {
    const ScoreBias bias = NextBias(patch, scores, axes, i);
    Value* value = ToHeadAxes(patch, bias.operand, axes, like);
    ok = ok && value != nullptr;
    if (!ok) return nullptr;
    if (bias.mask_value.has_value()) {
      sum = MaskedSum(patch, value, bias, sum, type);
    } else {
      value = patch.Times(value, bias.factor);
      sum = sum == nullptr ? value : patch.Op("Add", {sum, value});
    }
    const bool low = scores.floored > 1 || !IsAtLeast(bias, scores.floor, patch.facts());
    if (i == scores.floored && low) {
      sum = patch.Op("Max", {sum, patch.Number("floor", type, scores.floor)});
    }
  }
  return sum;
}

Value* AllMasks(Patch& patch, const Scores& scores, const HeadAxes& axes,
                absl::Span<Value* const> like, bool& ok) {
  Value* all = nullptr;
  for (const Scores::Mask& mask : scores.masks) {
    Value* value = ToHeadAxes(patch, mask.operand, axes, like);
    ok = ok && value != nullptr;
    if (!ok) return nullptr;
    if (mask.is_number) value = patch.Cast(value, DataType::kBool);
    if (mask.negated) value = patch.Op("Not", {value});
    all = all == nullptr ? value : patch.Op("And", {all, value});
  }
  return all;
}

Value* SinksOf(Patch& patch, const Scores& scores, const HeadAxes& axes,
               absl::Span<Value* const> like, bool& ok) {
  if (!scores.sinks.has_value()) return nullptr;
  const ScoreTerm& operand = scores.sinks->operand;
  if (operand.value == nullptr) {
    return patch.Constant("sinks", FromDoubles(DataType::kFloat, {1}, {scores.sinks->number}));
  }
  Value* value = ToHeadAxes(patch, operand, axes, like);
  ok = ok && value != nullptr;
  return value;
}

}  // namespace attnrun::opt
