// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/experts/expert_routes.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/analysis/view.h"
#include "optimizer/rules/experts/expert_layers.h"

namespace attnrun::opt {
namespace {

// As InOrder, up to the first value that has these extents; null if there is none.
Value* InOrderAs(Value* value, const std::vector<SymInt>& dims, Facts& facts) {
  while (true) {
    const std::vector<SymInt>* own = facts.DimsOf(value);
    if (own != nullptr && *own == dims) return value;
    if (!KeepsOrder(value)) return nullptr;
    value = value->producer()->input(0);
  }
}

// The value before views and casts of truth values, and what it is a view of that.
Traced TracedThroughCasts(Value* value, Facts& facts) {
  const std::vector<Traced> trace = Trace(BeforeCasts(value), facts);
  if (trace.empty()) return {};
  Traced traced = trace.back();
  traced.base = BeforeCasts(traced.base);
  return traced;
}

// Without axes of extent 1.
View WithoutOnes(View view) {
  for (int axis = view.rank() - 1; axis >= 0; --axis) {
    if (view.axes()[axis].empty()) view = view.Squeezed(axis).value_or(view);
  }
  return view;
}

// Numbers of experts [T, k] and a bool or a number for each of them and, perhaps, each expert.
struct Marks {
  Value* numbers = nullptr;
  // -1: the last axis says which expert is meant.
  int64_t expert = -1;
};

// True for the numbers 0, 1, ... in their order.
bool Counts(const Value* value) {
  if (!value->is_constant()) return false;
  const auto ints = IntsOf(value);
  for (size_t i = 0; ints.has_value() && i < ints->size(); ++i) {
    if ((*ints)[i] != static_cast<int64_t>(i)) return false;
  }
  return ints.has_value() && value->constant()->rank() == 1;
}

std::optional<Marks> MarksOf(Value* value, Facts& facts) {
  const Node* node = value->producer();
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  if (node == nullptr || dims == nullptr) return std::nullopt;
  std::vector<SymInt> matrix(dims->begin(), dims->begin() + std::min<size_t>(dims->size(), 2));
  if (IsOp(node, "OneHot") && dims->size() == 3) {
    const auto values = IntsOf(node->input(2));
    if (values != std::vector<int64_t>{0, 1} || !IsAlongLast(*node, 3, -1)) return std::nullopt;
    Value* numbers = InOrderAs(node->input(0), matrix, facts);
    return numbers == nullptr ? std::nullopt : std::optional(Marks{numbers});
  }
  for (const auto& [compared, number] : ReadingsOf(ProducerOf(value, "Equal"))) {
    Value* numbers = InOrderAs(compared, matrix, facts);
    if (numbers == nullptr) continue;
    if (dims->size() == 3 && Counts(number) && facts.Extent(compared, -1) == 1) {
      return Marks{numbers};
    }
    const auto expert = KnownInt(number, facts);
    if (dims->size() == 2 && expert.has_value()) return Marks{numbers, *expert};
  }
  return std::nullopt;
}

// True for tokens and places side by side [n, 2], which a GatherND reads at.
bool IsPairOf(const Value* pairs, const ExpertTokens& tokens, Facts& facts) {
  const Node* node = pairs->producer();
  if (IsTranspose(node, {1, 0})) {
    return node->input(0)->producer() == tokens.places && tokens.token_row == 0;
  }
  if (!IsOp(node, "Concat") || node->inputs().size() != 2) return false;
  for (const int i : {0, 1}) {
    const auto row = PlaceRowOf(node->input(i), facts);
    if (facts.Extent(node->input(i), -1) != 1 || !row.has_value() || row->places != tokens.places ||
        (row->row == tokens.token_row) != (i == 0)) {
      return false;
    }
  }
  return facts.Extent(pairs, -1) == 2;
}

bool IsRow(Value* value, const ExpertTokens& tokens, bool of_tokens, Facts& facts) {
  const auto row = PlaceRowOf(value, facts);
  return row.has_value() && row->places == tokens.places &&
         (row->row == tokens.token_row) == of_tokens;
}

// True if the value is k * token + place.
bool IsFlatPlace(Value* value, int64_t k, const ExpertTokens& tokens, Facts& facts) {
  for (const auto& [place, multiple] : ReadingsOf(ProducerOf(InOrder(value), "Add"))) {
    if (!IsRow(place, tokens, false, facts)) continue;
    double factor = 1;
    Value* token = InOrder(multiple);
    const Node* scaled = ProducerOf(token, "Mul");
    Value* inner = scaled == nullptr ? nullptr : ScaledOperand(*scaled, factor);
    if (inner != nullptr) token = inner;
    if (factor == static_cast<double>(k) && IsRow(token, tokens, true, facts)) return true;
  }
  return false;
}

// True for Where(x == count, c, x) that puts a number below `count` in the place of the one above.
// Zaya has an expert more than it has weights, which skips the token.
bool AreBelowBut(const Node& where, int64_t count, Facts& facts) {
  const Node* equal = ProducerOf(where.input(0), "Equal");
  Value* numbers = where.input(2);
  const double other = ScalarOf(where.input(1)).value_or(-1);
  if (other < 0 || other >= static_cast<double>(count)) return false;
  const bool replaces = equal != nullptr && equal->input(0) == numbers &&
                        ScalarOf(equal->input(1)) == static_cast<double>(count);
  return AreBelow(numbers, replaces ? count + 1 : count, facts);
}

// True if all axes but the last `kept` and the one along which the node gathers have extent 1.
bool GathersAlongOnly(const Node& gather, int kept, Facts& facts) {
  const int rank = facts.RankOf(gather.input(0));
  const auto axis = AxisOf(gather, rank);
  for (int i = 0; i < rank - kept; ++i) {
    if (i != axis && facts.Extent(gather.input(0), i) != 1) return false;
  }
  return axis.has_value();
}

}  // namespace

std::optional<PlaceRow> PlaceRowOf(Value* value, Facts& facts) {
  const std::vector<Traced> trace = Trace(BeforeCasts(value), facts);
  const Node* list = trace.empty() ? nullptr : ProducerOf(trace.back().base, "NonZero");
  if (list == nullptr || facts.Extent(list->output(0), 0) != 2) return std::nullopt;
  const View all = View::Dense(*facts.DimsOf(list->output(0)));
  for (const int row : {0, 1}) {
    const auto one = all.Sliced(0, row, 1);
    if (one.has_value() && WithoutOnes(*one) == WithoutOnes(trace.back().view)) {
      return PlaceRow{list, row};
    }
  }
  return std::nullopt;
}

std::optional<ExpertTokens> TokensOf(const Node& places, Facts& facts) {
  const Traced traced = TracedThroughCasts(places.input(0), facts);
  if (traced.base == nullptr || traced.view.rank() != 2) return std::nullopt;
  const auto marks = MarksOf(traced.base, facts);
  if (!marks.has_value()) return std::nullopt;
  const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
  ExpertTokens tokens = {marks->numbers, marks->expert, &places, 0};
  View view = View::Dense(dims);
  if (marks->expert < 0) {
    const auto expert = traced.view.offset().constant();
    const auto experts = dims[2].constant();
    if (!expert.has_value() || !experts.has_value() || *expert >= *experts) return std::nullopt;
    tokens.expert = *expert;
    const auto one = view.Sliced(2, *expert, 1);
    const auto matrix = one.has_value() ? one->Squeezed(2) : std::nullopt;
    if (!matrix.has_value()) return std::nullopt;
    view = *matrix;
  }
  if (traced.view == view) return tokens;
  tokens.token_row = 1;
  return traced.view == view.Transposed({1, 0}) ? std::optional(tokens) : std::nullopt;
}

bool AreBelow(Value* numbers, int64_t count, Facts& facts) {
  numbers = InOrder(numbers);
  const Node* node = numbers->producer();
  if (IsOp(node, "Where")) return AreBelowBut(*node, count, facts);
  if (IsOp(node, "Concat")) {
    return absl::c_all_of(node->inputs(),
                          [&](Value* part) { return AreBelow(part, count, facts); });
  }
  const bool is_largest = IsOp(node, "ArgMax");
  if (!is_largest && (!IsOp(node, "TopK") || numbers->producer_index() != 1)) return false;
  const int axis = static_cast<int>(AttributeOr<int64_t>(*node, "axis", is_largest ? 0 : -1));
  const auto size = facts.Extent(node->input(0), axis);
  return size.has_value() && *size <= count;
}

bool AreDistinct(Value* numbers, Facts& facts) {
  const auto k = facts.Extent(numbers, -1);
  numbers = InOrder(numbers);
  const Node* top = numbers->producer();
  if (!IsOp(top, "TopK") || numbers->producer_index() != 1 || !k.has_value()) return false;
  return IsAlongLast(*top, facts.RankOf(numbers), -1) && facts.Extent(numbers, -1) == k;
}

Value* GatheredFrom(Value* rows, const ExpertTokens& tokens, Facts& facts) {
  const Node* gather = ProducerOf(rows, "Gather");
  const auto size = facts.Extent(rows, -1);
  if (gather == nullptr || !size.has_value()) return nullptr;
  Value* x = gather->input(0);
  const bool whole = facts.RankOf(x) >= 2 && facts.Extent(x, -1) == size;
  // The tokens are the only axis of x before the last that has not extent 1.
  return whole && GathersAlongOnly(*gather, 1, facts) &&
                 IsRow(gather->input(1), tokens, true, facts)
             ? SameRows(x, facts)
             : nullptr;
}

std::optional<RouteWeights> WeightsOf(Value* gathered, const ExpertTokens& tokens, Facts& facts) {
  const Node* node = InOrder(gathered)->producer();
  const std::vector<SymInt>& routes = *facts.DimsOf(tokens.numbers);
  if (IsOp(node, "GatherND")) {
    Value* matrix = InOrderAs(node->input(0), routes, facts);
    const int rank = facts.RankOf(node->input(0));
    const bool fits = matrix != nullptr && (rank == 2 || facts.Extent(node->input(0), -1) == 1) &&
                      rank <= 3 && AttributeOr<int64_t>(*node, "batch_dims", 0) == 0 &&
                      IsPairOf(node->input(1), tokens, facts);
    return fits ? std::optional(RouteWeights{matrix}) : std::nullopt;
  }
  if (!IsOp(node, "Gather") || !GathersAlongOnly(*node, 0, facts)) return std::nullopt;
  Value* read = node->input(0);
  if (Value* matrix = InOrderAs(read, routes, facts); matrix != nullptr) {
    const auto k = routes[1].constant();
    const bool fits = k.has_value() && IsFlatPlace(node->input(1), *k, tokens, facts);
    return fits ? std::optional(RouteWeights{matrix}) : std::nullopt;
  }
  if (!IsRow(node->input(1), tokens, true, facts)) return std::nullopt;
  const std::vector<Traced> trace = Trace(read, facts);
  if (trace.empty() || facts.RankOf(trace.back().base) != 2) return std::nullopt;
  const Traced& traced = trace.back();
  const auto column = View::Dense(*facts.DimsOf(traced.base)).Sliced(1, tokens.expert, 1);
  const bool fits = column.has_value() && WithoutOnes(traced.view) == WithoutOnes(*column);
  return fits ? std::optional(RouteWeights{traced.base, true}) : std::nullopt;
}

bool SetsInZeros(const Node& scatter) {
  return AttributeOr<std::string>(scatter, "reduction", "none") == "none" &&
         IsZero(scatter.input(0));
}

std::optional<WeightRow> RowOfWeights(const Value* value, Facts& facts) {
  const Node* scatter = ProducerOf(value, "ScatterElements");
  if (scatter == nullptr || !SetsInZeros(*scatter) || facts.RankOf(value) != 2) {
    return std::nullopt;
  }
  if (!IsAlongLast(*scatter, 2)) return std::nullopt;
  return WeightRow{scatter->input(1), scatter->input(2)};
}

std::optional<WeightOfExpert> WeightOfExpertIn(const Value* value, Facts& facts) {
  const Node* sum = value->producer();
  if (sum == nullptr || ReducedAxis(*sum, "ReduceSum", facts) != -1) return std::nullopt;
  WeightOfExpert weight;
  Value* marks = nullptr;
  const Node* where = ProducerOf(sum->input(0), "Where");
  if (where != nullptr && UniformOf(where->input(2)) == 0) {
    marks = where->input(0);
    weight.matrix = where->input(1);
  }
  for (const auto& [scaled, factor] : ScalingsOf(ProducerOf(sum->input(0), "Mul"))) {
    if (ProducerOf(BeforeCasts(factor), "Equal") == nullptr) continue;
    marks = BeforeCasts(factor);
    weight.matrix = scaled;
  }
  for (const auto& [numbers, number] : ReadingsOf(ProducerOf(marks, "Equal"))) {
    const auto expert = KnownInt(number, facts);
    if (!expert.has_value()) continue;
    weight.numbers = numbers;
    weight.expert = *expert;
  }
  if (weight.numbers == nullptr) return std::nullopt;
  const std::vector<SymInt>* own = facts.DimsOf(weight.numbers);
  const std::vector<SymInt>* other = facts.DimsOf(weight.matrix);
  const bool same = own != nullptr && other != nullptr && *own == *other;
  return same ? std::optional(weight) : std::nullopt;
}

}  // namespace attnrun::opt
