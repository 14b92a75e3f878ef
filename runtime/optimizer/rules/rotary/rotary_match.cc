// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rotary/rotary_match.h"

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// The two values whose elements form pairs, joined to one value: side by side along the last axis,
// or alternating along it. `nodes` are those that join them.
struct Joined {
  PairLayout layout = PairLayout::kHalves;
  Value* first = nullptr;
  Value* second = nullptr;
  std::vector<Node*> nodes;
};

// The value before a new last axis of extent 1 was added; null if there is none.
Value* WithoutNewAxis(Value* value, Facts& facts) {
  for (const Traced& traced : Trace(value, facts)) {
    const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
    const int rank = static_cast<int>(dims.size());
    if (rank + 1 != facts.RankOf(value) || traced.base != value->producer()->input(0)) continue;
    if (View::Dense(dims).Unsqueezed(rank) == traced.view) return traced.base;
  }
  return nullptr;
}

std::optional<Joined> FindJoined(Value* value, Facts& facts) {
  if (Node* concat = PairConcat(value, facts)) {
    return Joined{PairLayout::kHalves, concat->input(0), concat->input(1), {concat}};
  }
  Node* flatten = ProducerOf(value, "Reshape");
  if (flatten == nullptr) flatten = ProducerOf(value, "Flatten");
  Node* concat = flatten == nullptr ? nullptr : PairConcat(flatten->input(0), facts);
  const std::vector<SymInt>* to = facts.DimsOf(value);
  const std::vector<SymInt>* from = concat == nullptr ? nullptr : facts.DimsOf(concat->output(0));
  if (to == nullptr || from == nullptr || from->size() != to->size() + 1) return std::nullopt;
  for (size_t i = 0; i + 1 < to->size(); ++i) {
    if ((*from)[i] != (*to)[i]) return std::nullopt;
  }
  Joined joined = {PairLayout::kNeighbors,
                   WithoutNewAxis(concat->input(0), facts),
                   WithoutNewAxis(concat->input(1), facts),
                   {flatten, concat}};
  if (joined.first == nullptr || joined.second == nullptr) return std::nullopt;
  for (Value* input : concat->inputs()) joined.nodes.push_back(input->producer());
  return joined;
}

// True if `first` and `second` are the two channels of each pair in x.
bool AreChannelsOf(Value* first, Value* second, Value* x, PairLayout layout, Facts& facts) {
  const std::optional<int64_t> rotated = facts.Extent(x, -1);
  if (!rotated.has_value() || *rotated % 2 != 0) return false;
  const int64_t half = *rotated / 2;
  if (layout == PairLayout::kHalves) {
    return IsSliceOf(first, x, 0, half, 1, facts) && IsSliceOf(second, x, half, half, 1, facts);
  }
  return IsSliceOf(first, x, 0, half, 2, facts) && IsSliceOf(second, x, 1, half, 2, facts);
}

// The value v if `value` is -v; null if it is no negation.
Value* Negated(const Value* value) {
  const Node* node = value->producer();
  if (node == nullptr) return nullptr;
  if (IsOp(node, "Neg")) return node->input(0);
  double factor = 0;
  Value* scaled = ScaledOperand(*node, factor);
  return factor == -1 ? scaled : nullptr;
}

// Finds x * cos + joined(-x2, x1) * sin, or with joined(x2, -x1). `straight` and `turned` are the
// two products.
std::optional<RotationMatch> FindSum(Node* sum, Node* straight, Node* turned, Facts& facts) {
  for (const int side : {0, 1}) {
    const auto joined = FindJoined(turned->input(side), facts);
    if (!joined.has_value()) continue;
    Value* first = joined->second;
    Value* second = Negated(joined->first);
    const bool backwards = second == nullptr;
    if (backwards) {
      first = Negated(joined->second);
      second = joined->first;
    }
    if (first == nullptr) continue;
    Node* negation = (backwards ? joined->second : joined->first)->producer();
    for (const int x_side : {0, 1}) {
      Value* x = straight->input(x_side);
      if (!AreChannelsOf(first, second, x, joined->layout, facts)) continue;
      RotationMatch match = {
          {joined->layout, x, straight->input(1 - x_side), turned->input(1 - side)},
          {sum, straight, turned, negation}};
      match.rotation.backwards = backwards;
      match.nodes.insert(match.nodes.end(), joined->nodes.begin(), joined->nodes.end());
      return match;
    }
  }
  return std::nullopt;
}

// True if the node is the product of these two.
bool IsProduct(const Node* node, const Value* a, const Value* b) {
  return (node->input(0) == a && node->input(1) == b) ||
         (node->input(0) == b && node->input(1) == a);
}

// The value that consists of the pairs (x1, x2); null if there is none.
Value* WholeOf(Value* x1, Value* x2, PairLayout layout, Facts& facts) {
  for (const Traced& traced : Trace(x1, facts)) {
    if (traced.base == x1 || facts.RankOf(traced.base) != facts.RankOf(x1)) continue;
    if (AreChannelsOf(x1, x2, traced.base, layout, facts)) return traced.base;
  }
  return nullptr;
}

// Finds joined(x1 cos - x2 sin, x2 cos + x1 sin).
std::optional<RotationMatch> FindPairs(Value* value, Facts& facts) {
  const auto joined = FindJoined(value, facts);
  if (!joined.has_value()) return std::nullopt;
  Node* difference = ProducerOf(joined->first, "Sub");
  Node* sum = ProducerOf(joined->second, "Add");
  if (difference == nullptr || sum == nullptr) return std::nullopt;
  Node* products[4] = {};
  for (int i = 0; i < 4; ++i) {
    products[i] = ProducerOf((i < 2 ? difference : sum)->input(i % 2), "Mul");
    if (products[i] == nullptr) return std::nullopt;
  }
  // Each bit of `choice` says which operand of a product is the table.
  for (const int choice : {0, 1, 2, 3}) {
    Value* x1 = products[0]->input(choice & 1);
    Value* cos = products[0]->input(1 - (choice & 1));
    Value* x2 = products[1]->input(choice >> 1);
    Value* sin = products[1]->input(1 - (choice >> 1));
    const bool fits = (IsProduct(products[2], x2, cos) && IsProduct(products[3], x1, sin)) ||
                      (IsProduct(products[3], x2, cos) && IsProduct(products[2], x1, sin));
    Value* x = fits ? WholeOf(x1, x2, joined->layout, facts) : nullptr;
    if (x == nullptr || facts.RankOf(x) < facts.RankOf(cos)) continue;
    RotationMatch match = {{joined->layout, x, cos, sin, true}, joined->nodes};
    match.nodes.insert(match.nodes.end(), {difference, sum});
    match.nodes.insert(match.nodes.end(), std::begin(products), std::end(products));
    return match;
  }
  return std::nullopt;
}

}  // namespace

Node* PairConcat(const Value* value, Facts& facts) {
  Node* node = ProducerOf(value, "Concat");
  if (node == nullptr || node->inputs().size() != 2) return nullptr;
  const int64_t axis = AttributeOr<int64_t>(*node, "axis", 0);
  return axis == -1 || axis == facts.RankOf(value) - 1 ? node : nullptr;
}

bool IsSliceOf(Value* part, Value* x, int64_t start, int64_t length, int64_t step, Facts& facts) {
  const std::vector<Traced> parts = Trace(part, facts);
  for (const Traced& whole : Trace(x, facts)) {
    const auto slice = whole.view.Sliced(whole.view.rank() - 1, start, length, step);
    for (const Traced& traced : parts) {
      if (slice.has_value() && traced.base == whole.base && traced.view == *slice) return true;
    }
  }
  return false;
}

std::optional<RotationMatch> FindRotation(Node* node, Facts& facts) {
  if (!IsOp(node, "Add")) return FindPairs(node->output(0), facts);
  Node* a = ProducerOf(node->input(0), "Mul");
  Node* b = ProducerOf(node->input(1), "Mul");
  if (a == nullptr || b == nullptr) return std::nullopt;
  auto match = FindSum(node, a, b, facts);
  return match.has_value() ? match : FindSum(node, b, a, facts);
}

}  // namespace attnrun::opt
