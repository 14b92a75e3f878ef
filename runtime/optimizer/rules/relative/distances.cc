// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/relative/distances.h"

#include <utility>

#include "optimizer/analysis/axes.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

// Exporters write some 20 nodes in a row.
constexpr int kDeepest = 64;

}  // namespace

bool Distances::AreAllThatCounts(Value* value, const PairAxes& axes) {
  const auto known = axes_.find(value);
  if (known != axes_.end()) return known->second == axes;
  const Node* node = value->producer();
  const int rank = facts_.RankOf(value);
  bool found = false;
  if (node != nullptr && depth_ < kDeepest) {
    ++depth_;
    found = IsDifference(*node) ? axes == PairAxes{rank - 2, rank - 1} : FindPairs(*value, axes);
    --depth_;
  }
  axes_.emplace(value, found ? std::optional(axes) : std::nullopt);
  return found;
}

bool Distances::FindPairs(const Value& value, const PairAxes& axes) {
  const Node& node = *value.producer();
  const ops::AxisRule rule = AxesOf(node, facts_);
  const ops::AxisTrack* queries = rule.OfOutput(value.producer_index(), axes.queries);
  const ops::AxisTrack* keys = rule.OfOutput(value.producer_index(), axes.keys);
  if (queries == nullptr || keys == nullptr) return false;
  std::vector<size_t> pairs;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const PairAxes of_input = {queries->inputs[i], keys->inputs[i]};
    if (of_input == PairAxes{ops::AxisTrack::kNone, ops::AxisTrack::kNone}) continue;
    if (!AreAllThatCounts(node.input(i), of_input)) return false;
    pairs.push_back(i);
  }
  pairs_[&node] = std::move(pairs);
  return FollowsInputs(node, *queries, facts_) && FollowsInputs(node, *keys, facts_);
}

Value* Distances::PerDistance(Patch& patch, Value* value) {
  const auto known = made_.find(value);
  if (known != made_.end()) return known->second;
  const Node& node = *value->producer();
  std::vector<Value*> inputs = node.inputs();
  Value* made = nullptr;
  if (IsDifference(node)) {
    made = patch.Op("attnrun::RelativePositions", inputs, {}, node.name());
  } else {
    for (const size_t i : pairs_.at(&node)) inputs[i] = PerDistance(patch, inputs[i]);
    made = patch.Again(node, inputs, node.attributes())[value->producer_index()];
  }
  made_.emplace(value, made);
  return made;
}

Value* Distances::QueriesOf(Value* value) {
  const Node& node = *value->producer();
  if (!IsDifference(node)) return QueriesOf(node.input(pairs_.at(&node).front()));
  for (Value* input : node.inputs()) {
    if (IsOnePerQuery(input, value)) return input;
  }
  return nullptr;
}

bool Distances::IsOnePerQuery(const Value* operand, const Value* difference) {
  const std::vector<SymInt>* dims = facts_.DimsOf(operand);
  const std::vector<SymInt>* pairs = facts_.DimsOf(difference);
  if (dims == nullptr || pairs == nullptr || dims->size() < 2 || pairs->size() < 2) return false;
  return dims->back().is_constant(1) && (*dims)[dims->size() - 2] == (*pairs)[pairs->size() - 2];
}

bool Distances::IsDifference(const Node& node) {
  if (!IsOp(&node, "Sub")) return false;
  const auto known = differences_.find(&node);
  if (known != differences_.end()) return known->second;
  const bool is = FindDifference(node);
  differences_.emplace(&node, is);
  return is;
}

bool Distances::FindDifference(const Node& node) {
  Value* value = node.output(0);
  if (!IsOnePerQuery(node.input(0), value) && !IsOnePerQuery(node.input(1), value)) return false;
  const auto view = PositionsOf(value, facts_);
  if (!view.has_value() || view->rank() < 2) return false;
  const int rank = view->rank();
  for (int axis = 0; axis + 2 < rank; ++axis) {
    if (!view->axes()[axis].empty()) return false;
  }
  const ViewAxis& queries = view->axes()[rank - 2];
  const ViewAxis& keys = view->axes()[rank - 1];
  if (queries.size() != 1 || keys.size() != 1) return false;
  return queries[0].stride + keys[0].stride == SymInt(0);
}

}  // namespace attnrun::opt
