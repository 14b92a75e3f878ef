// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/conditions.h"

#include <cmath>

#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// Exporters write no longer chains, and a file must not be able to exhaust the stack or the clock.
constexpr int kMaxDepth = 12;

// The numbers a - b - margin, as the places of a view of these extents.
std::optional<View> Difference(Value* a, Value* b, int64_t margin, const std::vector<SymInt>& dims,
                               Facts& facts) {
  auto minuend = PositionsOf(a, facts);
  auto subtrahend = PositionsOf(b, facts);
  if (!minuend.has_value() || !subtrahend.has_value()) return std::nullopt;
  minuend = minuend->Expanded(dims);
  subtrahend = subtrahend->Expanded(dims);
  if (!minuend.has_value() || !subtrahend.has_value()) return std::nullopt;
  const std::vector<SymInt> steps(dims.size(), 0);
  const auto sum = View::Sum(*minuend, subtrahend->Scaled(-1));
  return sum.has_value() ? View::Sum(*sum, View::Counting(-margin, dims, steps)) : std::nullopt;
}

std::optional<View> Negated(const View& margin) {
  const std::vector<SymInt> dims = margin.Dims();
  // -x - 1 is at least 0 exactly where the integer x is below 0.
  const View negated = margin.Scaled(-1);
  const View one = View::Counting(-1, dims, std::vector<SymInt>(dims.size(), 0));
  return View::Sum(negated, one);
}

// At least 0 exactly where column <= row + diagonal, or column >= row + diagonal if `upper`.
View Triangle(const std::vector<SymInt>& dims, int64_t diagonal, bool upper) {
  std::vector<SymInt> steps(dims.size(), 0);
  steps[dims.size() - 2] = upper ? -1 : 1;
  steps[dims.size() - 1] = upper ? 1 : -1;
  return View::Counting(upper ? -diagonal : diagonal, dims, steps);
}

// The margin of a constant each of whose matrices holds one number other than 0 in a triangle and 0
// elsewhere. Sets `number` to that number. Both must occur.
std::optional<View> TableMargin(const Tensor& table, double& number) {
  constexpr int64_t kMaxElements = 1 << 24;
  const Shape shape(table.shape().begin(), table.shape().end());
  if (shape.size() < 2 || table.num_elements() == 0 || table.num_elements() > kMaxElements) {
    return std::nullopt;
  }
  const auto elements = ToDoubles(table);
  if (!elements.ok()) return std::nullopt;
  const int64_t columns = shape.back();
  const int64_t rows = shape[shape.size() - 2];
  // The first row shows which triangle it is and on which diagonal it begins.
  const bool upper = elements->front() == 0;
  number = upper ? elements->back() : elements->front();
  int64_t diagonal = 0;
  while (diagonal < columns && ((*elements)[diagonal] == 0) == upper) ++diagonal;
  if (!upper) --diagonal;
  if (number == 0 || std::isnan(number)) return std::nullopt;
  for (int64_t i = 0; i < table.num_elements(); ++i) {
    const int64_t column = i % columns;
    const int64_t row = i / columns % rows;
    const bool inside = upper ? column >= row + diagonal : column <= row + diagonal;
    if ((*elements)[i] != (inside ? number : 0)) return std::nullopt;
  }
  if (diagonal >= columns - 1 && !upper) return std::nullopt;
  return Triangle(std::vector<SymInt>(shape.begin(), shape.end()), diagonal, upper);
}

// The margin of a tensor that holds `number` in a triangle and 0 elsewhere: the output of a Trilu
// over a tensor of equal elements, a constant table, or a view of these.
std::optional<View> TriangleMargin(const Value* value, Facts& facts, double& number,
                                   int depth = kMaxDepth) {
  if (value->is_constant()) return TableMargin(*value->constant(), number);
  const Node* node = value->producer();
  if (node != nullptr && MovesElements(*node) && depth > 0) {
    const auto inner = TriangleMargin(node->input(0), facts, number, depth - 1);
    return inner.has_value() ? ApplyViewNode(*node, *value, *inner, facts) : std::nullopt;
  }
  const std::vector<SymInt>* known = facts.DimsOf(value);
  if (!IsOp(node, "Trilu") || known == nullptr || known->size() < 2) return std::nullopt;
  const auto filled = UniformOf(node->input(0));
  const auto diagonal =
      node->input(1) == nullptr ? std::optional<int64_t>(0) : KnownInt(node->input(1), facts);
  if (!filled.has_value() || *filled == 0 || !diagonal.has_value()) return std::nullopt;
  number = *filled;
  return Triangle(*known, *diagonal, AttributeOr<int64_t>(*node, "upper", 1) != 0);
}

// The margin of a condition on such a triangle: an element is `number`, or it is 0.
std::optional<View> OnTriangle(const Value* condition, const Node& node, Facts& facts) {
  double number = 0;
  const Node* cast = ProducerOf(condition, "Cast");
  if (!IsOp(&node, "Equal")) {
    return TriangleMargin(cast == nullptr ? condition : cast->input(0), facts, number);
  }
  for (const auto& [triangle, other] : ReadingsOf(&node)) {
    auto margin = TriangleMargin(triangle, facts, number);
    const auto compared = ScalarOf(other);
    if (!margin.has_value() || facts.RankOf(other) > margin->rank()) continue;
    if (compared == number) return margin;
    if (compared == 0.0) return Negated(*margin);
  }
  return std::nullopt;
}

std::optional<View> MarginTo(Value* condition, Facts& facts, int depth) {
  const std::vector<SymInt>* known = facts.DimsOf(condition);
  const Node* node = condition->producer();
  if (facts.TypeOf(condition) != DataType::kBool || known == nullptr) return std::nullopt;
  double number = 0;
  if (condition->is_constant()) return TableMargin(*condition->constant(), number);
  if (node == nullptr || !node->domain().empty() || depth == 0) return std::nullopt;
  const std::vector<SymInt> dims = *known;
  const std::string& op = node->op_type();
  Value* a = node->input(0);
  Value* b = node->input(1);
  if (op == "GreaterOrEqual") return Difference(a, b, 0, dims, facts);
  if (op == "Greater") return Difference(a, b, 1, dims, facts);
  if (op == "LessOrEqual") return Difference(b, a, 0, dims, facts);
  if (op == "Less") return Difference(b, a, 1, dims, facts);
  if (!MovesElements(*node)) return OnTriangle(condition, *node, facts);
  const auto inner = MarginTo(a, facts, depth - 1);
  return inner.has_value() ? ApplyViewNode(*node, *condition, *inner, facts) : std::nullopt;
}

// True if no place of the view is below 0; an empty view has no places.
bool AllAtLeastZero(const View& view, const Facts& facts) {
  SymInt least = view.offset();
  for (const ViewAxis& axis : view.axes()) {
    for (const ViewFactor& factor : axis) {
      if (facts.IsNeverNegative(factor.stride)) continue;
      if (!facts.IsNeverNegative(factor.stride * SymInt(-1))) return false;
      // An index runs up to size - 1. Where the axis is empty there are no elements to be true of.
      least = least + factor.stride * (factor.size - SymInt(1));
    }
  }
  return facts.IsNeverNegative(least);
}

std::optional<bool> KnownMargin(Value* condition, Facts& facts) {
  const auto margin = MarginOf(condition, facts);
  if (!margin.has_value()) return std::nullopt;
  if (AllAtLeastZero(*margin, facts)) return true;
  const auto negated = Negated(*margin);
  if (negated.has_value() && AllAtLeastZero(*negated, facts)) return false;
  return std::nullopt;
}

// Decides if a uniform number, or the difference of two, is not 0. Exporters test 1 - mask this way
// to find masked places. nullopt if it is not known.
std::optional<bool> IsNotZero(const Value* value) {
  constexpr double kMaxExact = 1ll << 53;
  if (const auto number = UniformOf(value)) return *number != 0;
  const Node* node = ProducerOf(value, "Sub");
  if (node == nullptr) return std::nullopt;
  const auto a = UniformOf(node->input(0));
  const auto b = UniformOf(node->input(1));
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  // Larger integers may look equal as doubles.
  if (!(std::abs(*a) < kMaxExact && std::abs(*b) < kMaxExact)) return std::nullopt;
  // In every type a difference is 0 only of equal numbers.
  return *a != *b;
}

// How far a walk over operators of two inputs may still go: values that are read twice would be met
// exponentially often by depth alone.
struct Reach {
  int depth;
  // Shared by all that one walk looks at.
  int* values;

  Reach Next() const { return {depth - 1, values}; }
  // False at the end.
  bool Take() const { return depth > 0 && --*values >= 0; }
};

// True if all elements are finite or NaN, whatever the inputs are.
bool IsNeverInfinite(const Value* value, Facts& facts, Reach reach) {
  if (const auto uniform = UniformOf(value)) return !std::isinf(*uniform);
  const Node* node = value->producer();
  if (!reach.Take() || node == nullptr || !node->domain().empty()) return false;
  const std::string& op = node->op_type();
  if (ops::TraitsOf(*node).bounded) return true;
  const auto input = [&](int i) { return IsNeverInfinite(node->input(i), facts, reach.Next()); };
  if (op == "Where") return input(1) && input(2);
  // A finite number may overflow in a narrower type.
  if (op == "Cast") return facts.TypeOf(value) == DataType::kDouble && input(0);
  return MovesElements(*node) && input(0);
}

std::optional<bool> ConditionTo(Value* value, Facts& facts, Reach reach) {
  if (value == nullptr || facts.TypeOf(value) != DataType::kBool || !reach.Take()) {
    return std::nullopt;
  }
  if (const auto uniform = UniformOf(value)) return *uniform != 0;
  if (value->is_constant()) return std::nullopt;
  const auto known = KnownMargin(value, facts);
  const Node* node = value->producer();
  if (known.has_value() || node == nullptr || !node->domain().empty()) return known;
  const std::string& op = node->op_type();
  const auto a = [&] { return ConditionTo(node->input(0), facts, reach.Next()); };
  const auto b = [&] { return ConditionTo(node->input(1), facts, reach.Next()); };
  if (op == "Cast") return IsNotZero(node->input(0));
  if (op == "IsInf" && IsNeverInfinite(node->input(0), facts, reach)) return false;
  if (op == "Not") {
    const auto inner = a();
    return inner.has_value() ? std::optional<bool>(!*inner) : std::nullopt;
  }
  if (op == "And" || op == "Or") {
    const bool decides = op == "Or";
    const auto left = a();
    if (left == decides) return left;
    const auto right = b();
    return right == decides || left.has_value() ? right : std::nullopt;
  }
  return MovesElements(*node) ? a() : std::nullopt;
}

}  // namespace

std::optional<View> MarginOf(Value* condition, Facts& facts) {
  return MarginTo(condition, facts, kMaxDepth);
}

std::optional<double> TriangleOf(const Value* value, Facts& facts) {
  double number = 0;
  return TriangleMargin(value, facts, number).has_value() ? std::optional(number) : std::nullopt;
}

std::optional<bool> KnownCondition(Value* condition, Facts& facts) {
  int values = 128;
  return ConditionTo(condition, facts, {kMaxDepth, &values});
}

}  // namespace attnrun::opt
