// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rotary/rotary_match.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/pattern.h"

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

// Finds x * cos + joined(-x2, x1) * sin, or with joined(x2, -x1), in a sum of two products.
std::optional<RotationMatch> FindSum(Value* sum, Facts& facts) {
  Value* a[2];
  Value* b[2];
  MatchedNodes nodes;
  const Pattern pattern =
      Op("Add", {Op("Mul", {Is(&a[0]), Is(&a[1])}), Op("Mul", {Is(&b[0]), Is(&b[1])})});
  if (!pattern.Match(sum, facts, nodes)) return std::nullopt;
  // Each bit of `choice` says which product is turned, and which operands are x and the pairs.
  for (int choice = 0; choice < 8; ++choice) {
    Value* const* straight = (choice & 1) == 0 ? a : b;
    Value* const* turned = (choice & 1) == 0 ? b : a;
    const int x = choice >> 1 & 1;
    const int pairs = choice >> 2;
    const auto joined = FindJoined(turned[pairs], facts);
    if (!joined.has_value()) continue;
    Value* minus_second = Negated(joined->first);
    const bool backwards = minus_second == nullptr;
    Value* first = backwards ? Negated(joined->second) : joined->second;
    Value* second = backwards ? joined->first : minus_second;
    if (first == nullptr || !AreChannelsOf(first, second, straight[x], joined->layout, facts)) {
      continue;
    }
    RotationMatch match = {{joined->layout, straight[x], straight[1 - x], turned[1 - pairs]},
                           nodes};
    match.rotation.backwards = backwards;
    match.nodes.push_back((backwards ? joined->second : joined->first)->producer());
    absl::c_copy(joined->nodes, std::back_inserter(match.nodes));
    return match;
  }
  return std::nullopt;
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
  Value* a[2];
  Value* b[2];
  const Pattern difference =
      Op("Sub", {Op("Mul", {Is(&a[0]), Is(&a[1])}), Op("Mul", {Is(&b[0]), Is(&b[1])})});
  MatchedNodes nodes = joined->nodes;
  if (!difference.Match(joined->first, facts, nodes)) return std::nullopt;
  // Each bit of `choice` says which operand of a product is the table.
  for (const int choice : {0, 1, 2, 3}) {
    Value* x1 = a[choice & 1];
    Value* cos = a[1 - (choice & 1)];
    Value* x2 = b[choice >> 1];
    Value* sin = b[1 - (choice >> 1)];
    const Pattern sum =
        Op("Add", {Op("Mul", {Same(&x2), Same(&cos)}), Op("Mul", {Same(&x1), Same(&sin)})});
    MatchedNodes all = nodes;
    if (!sum.Match(joined->second, facts, all)) continue;
    Value* x = WholeOf(x1, x2, joined->layout, facts);
    if (x == nullptr || facts.RankOf(x) < facts.RankOf(cos)) continue;
    return RotationMatch{{joined->layout, x, cos, sin, true}, all};
  }
  return std::nullopt;
}

}  // namespace

Node* PairConcat(const Value* value, Facts& facts) {
  Node* node = ProducerOf(value, "Concat");
  if (node == nullptr || node->inputs().size() != 2) return nullptr;
  return IsAlongLast(*node, facts.RankOf(value)) ? node : nullptr;
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
  auto match = FindSum(node->output(0), facts);
  return match.has_value() ? match : FindPairs(node->output(0), facts);
}

}  // namespace attnrun::opt
