// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/bias.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/attention/grid.h"

namespace attnrun::opt {
namespace {

// `dims` behind as many 1s as it takes to make `rank` extents.
std::vector<SymInt> Padded(std::vector<SymInt> dims, size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), SymInt(1));
  return dims;
}

// For scores of three leading axes: joins the axis at `first` with the next. An operand that
// differs along only one of the two must be expanded along the other.
Value* JoinAxes(Patch& patch, Facts& facts, Value* value, std::vector<SymInt> dims,
                const std::vector<SymInt>& leading, size_t first, absl::Span<Value* const> like) {
  const bool same = dims[first].is_constant(1) && dims[first + 1].is_constant(1);
  if (!same && (dims[first] != leading[first] || dims[first + 1] != leading[first + 1])) {
    dims[first] = leading[first];
    dims[first + 1] = leading[first + 1];
    Value* shape = ShapeOperand(patch, facts, dims, like);
    if (shape == nullptr) return nullptr;
    value = patch.Op("Expand", {value, shape});
  }
  dims[first] = dims[first] * dims[first + 1];
  dims.erase(dims.begin() + static_cast<int>(first) + 1);
  return ReshapeTo(patch, facts, value, dims, like);
}

// True if no element can be below `floor`, which a choice between two numbers shows.
bool IsAtLeast(const ScoreBias& bias, double floor) {
  if (bias.closed.has_value()) return *bias.closed * bias.factor >= floor;
  const Node* where = bias.operand.value->producer();
  for (int i = 0; i < 4 && where != nullptr && IsViewNode(*where); ++i) {
    where = where->input(0)->producer();
  }
  if (!IsOp(where, "Where") || bias.factor != 1) return false;
  const auto at_least = [&](const Value* value) {
    return UniformOf(value).value_or(-INFINITY) >= floor;
  };
  return at_least(where->input(1)) && at_least(where->input(2));
}

// A bool mask as a bias: 0, or the mask value where the mask excludes a key.
Value* AsBias(Patch& patch, Value* mask, const ScoreBias& bias, DataType type) {
  Value* open = patch.Constant("open", FromDoubles(type, {}, {0.0}));
  Value* closed =
      patch.Constant("closed", FromDoubles(type, {}, {bias.closed.value_or(-INFINITY)}));
  if (bias.negated) std::swap(open, closed);
  return patch.Op("Where", {mask, open, closed});
}

// Reshapes an operand that broadcasts to the scores of the graph so that it broadcasts to
// [B,N,S,T]. Extents that are not numbers are read off `like`. Null if that cannot be written.
Value* ToBatchAndHeads(Patch& patch, Facts& facts, const ScoreTerm& operand, const HeadAxes& axes,
                       absl::Span<Value* const> like) {
  const std::vector<SymInt>* known = facts.DimsOf(operand.value);
  if (known == nullptr || known->size() > operand.dims.size()) return nullptr;
  const size_t leading = operand.dims.size() - 2;
  if (known->size() <= 2) return operand.value;
  const std::vector<SymInt> dims = Padded(*known, operand.dims.size());
  std::vector<Value*> sources(like.begin(), like.end());
  sources.push_back(operand.value);
  if (leading == 3) {
    return JoinAxes(patch, facts, operand.value, dims, operand.dims, axes.heads_split ? 1 : 0,
                    sources);
  }
  if (leading == 2) {
    if (!axes.heads_first) return operand.value;
    Value* whole = ReshapeTo(patch, facts, operand.value, dims, sources);
    if (whole == nullptr) return nullptr;
    return patch.Op("Transpose", {whole}, {{"perm", std::vector<int64_t>{1, 0, 2, 3}}});
  }
  // Samples and heads share one axis.
  std::vector<SymInt> split = {axes.batch, axes.heads, dims[1], dims[2]};
  if (dims[0].is_constant(1)) split[0] = split[1] = SymInt(1);
  return ReshapeTo(patch, facts, operand.value, split, sources);
}

// Reshapes a term that broadcasts to a grid view of the scores so that it broadcasts to [..., S,
// T]. Only samples and heads can be left to broadcast. Holds no value if that cannot be written.
ScoreTerm FromGrid(Patch& patch, Facts& facts, ScoreTerm term, absl::Span<Value* const> like) {
  if (term.grid.empty()) return term;
  const std::vector<SymInt>* known = facts.DimsOf(term.value);
  if (known == nullptr || known->size() > term.grid.size()) return {};
  std::vector<Value*> sources(like.begin(), like.end());
  sources.push_back(term.value);
  const std::vector<SymInt> dims = Padded(*known, term.grid.size());
  const size_t leading = LeadingAxes(term.grid, term.dims).value_or(0);
  std::vector<SymInt> full = term.grid;
  std::vector<SymInt> joined = term.dims;
  const bool alike = std::all_of(dims.begin(), dims.begin() + static_cast<int>(leading),
                                 [](const SymInt& extent) { return extent.is_constant(1); });
  for (size_t i = 0; alike && i < leading; ++i) full[i] = SymInt(1);
  for (size_t i = 0; alike && i + 2 < joined.size(); ++i) joined[i] = SymInt(1);
  if (dims != full) {
    Value* shape = ShapeOperand(patch, facts, full, sources);
    if (shape == nullptr) return {};
    term.value = patch.Op("Expand", {term.value, shape});
    sources.push_back(term.value);
  }
  term.value = ReshapeTo(patch, facts, term.value, joined, sources);
  term.grid.clear();
  return term;
}

// Adds up the biases from `i` on that belong to the same grid view, so that they are reshaped once.
// Moves `i` behind the last of them.
ScoreBias NextBias(Patch& patch, Facts& facts, const Scores& scores, size_t& i) {
  ScoreBias bias = scores.biases[i++];
  const auto scaled = [&](const ScoreBias& of) {
    if (of.factor == 1) return of.operand.value;
    const DataType type = facts.TypeOf(of.operand.value);
    return patch.Op(
        "Mul", {of.operand.value, patch.Constant("factor", FromDoubles(type, {}, {of.factor}))});
  };
  const auto joins = [&](const ScoreBias& next) {
    return !next.closed.has_value() && next.operand.grid == bias.operand.grid &&
           next.operand.dims == bias.operand.dims;
  };
  if (bias.operand.grid.empty() || bias.closed.has_value()) return bias;
  for (; i < scores.biases.size() && i != scores.floored && joins(scores.biases[i]); ++i) {
    bias.operand.value = patch.Op("Add", {scaled(bias), scaled(scores.biases[i])});
    bias.factor = 1;
  }
  return bias;
}

}  // namespace

Value* SumOfBiases(Patch& patch, Facts& facts, const Scores& scores, const HeadAxes& axes,
                   absl::Span<Value* const> like, bool& ok) {
  Value* sum = nullptr;
  for (size_t i = 0; i < scores.biases.size();) {
    ScoreBias bias = NextBias(patch, facts, scores, i);
    bias.operand = FromGrid(patch, facts, bias.operand, like);
    ok = ok && bias.operand.value != nullptr;
    if (!ok) return nullptr;
    const DataType type =
        bias.closed.has_value() ? DataType::kFloat : facts.TypeOf(bias.operand.value);
    Value* value = ToBatchAndHeads(patch, facts, bias.operand, axes, like);
    ok = ok && value != nullptr;
    if (!ok) return nullptr;
    if (bias.closed.has_value()) value = AsBias(patch, value, bias, type);
    if (bias.factor != 1) {
      Value* factor = patch.Constant("factor", FromDoubles(type, {}, {bias.factor}));
      value = patch.Op("Mul", {value, factor});
    }
    sum = sum == nullptr ? value : patch.Op("Add", {sum, value});
    const bool low = scores.floored > 1 || !IsAtLeast(bias, scores.floor);
    if (i == scores.floored && low) {
      Value* floor = patch.Constant("floor", FromDoubles(type, {}, {scores.floor}));
      sum = patch.Op("Max", {sum, floor});
    }
  }
  return sum;
}

Value* AllMasks(Patch& patch, Facts& facts, const Scores& scores, const HeadAxes& axes,
                absl::Span<Value* const> like, bool& ok) {
  Value* all = nullptr;
  for (const Scores::Mask& mask : scores.masks) {
    const ScoreTerm operand = FromGrid(patch, facts, mask.operand, like);
    Value* value =
        operand.value == nullptr ? nullptr : ToBatchAndHeads(patch, facts, operand, axes, like);
    ok = ok && value != nullptr;
    if (!ok) return nullptr;
    if (mask.is_number) {
      value = patch.Op("Cast", {value}, {{"to", static_cast<int64_t>(DataType::kBool)}});
    }
    if (mask.negated) value = patch.Op("Not", {value});
    all = all == nullptr ? value : patch.Op("And", {all, value});
  }
  return all;
}

Value* SinksOf(Patch& patch, Facts& facts, const Scores& scores, const HeadAxes& axes,
               absl::Span<Value* const> like, bool& ok) {
  if (!scores.sinks.has_value()) return nullptr;
  const ScoreTerm& operand = scores.sinks->operand;
  if (operand.value == nullptr) {
    return patch.Constant("sinks", FromDoubles(DataType::kFloat, {1}, {scores.sinks->number}));
  }
  Value* value = ToBatchAndHeads(patch, facts, operand, axes, like);
  ok = ok && value != nullptr;
  return value;
}

}  // namespace attnrun::opt
