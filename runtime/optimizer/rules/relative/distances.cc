// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/relative/distances.h"

#include <string>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

// Exporters write some 20 nodes in a row.
constexpr int kDeepest = 64;

}  // namespace

std::optional<PairAxes> Distances::AxesOf(Value* value) {
  const auto known = axes_.find(value);
  if (known != axes_.end()) return known->second;
  const Node* node = value->producer();
  std::optional<PairAxes> axes;
  if (node != nullptr && node->domain().empty() && facts_.DimsOf(value) != nullptr &&
      depth_ < kDeepest) {
    ++depth_;
    axes = IsDifference(*node) ? PairAxes{facts_.RankOf(value) - 2, facts_.RankOf(value) - 1}
                               : OfNode(*node);
    --depth_;
  }
  axes_.emplace(value, axes);
  return axes;
}

Value* Distances::PerDistance(Patch& patch, Value* value) {
  const auto known = made_.find(value);
  if (known != made_.end()) return known->second;
  const Node* node = value->producer();
  const bool first = IsDifference(*node);
  std::vector<Value*> inputs = node->inputs();
  for (Value*& input : inputs) {
    if (!first && input != nullptr && AxesOf(input).has_value()) input = PerDistance(patch, input);
  }
  const std::string op_type = first ? "attnrun::RelativePositions" : node->op_type();
  Value* made = patch.Op(op_type, inputs, node->attributes(), node->name());
  made_.emplace(value, made);
  return made;
}

Value* Distances::QueriesOf(Value* value) {
  const Node* node = value->producer();
  for (Value* input : node->inputs()) {
    if (IsDifference(*node)) {
      if (IsOnePerQuery(input, value)) return input;
    } else if (input != nullptr && AxesOf(input).has_value()) {
      return QueriesOf(input);
    }
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

std::optional<PairAxes> Distances::OfNode(const Node& node) {
  if (ops::TraitsOf(node).elementwise) return OfElementwise(node);
  if (IsOp(&node, "Gather")) return OfGather(node);
  if (IsOp(&node, "Transpose")) return OfTranspose(node);
  if (IsOp(&node, "Unsqueeze")) return OfUnsqueeze(node);
  if (IsOp(&node, "Squeeze")) return OfSqueeze(node);
  return std::nullopt;
}

// All operands that depend on distances must have the same two axes, counted from the end; the
// others must repeat along these.
std::optional<PairAxes> Distances::OfElementwise(const Node& node) {
  // An attribute may have another meaning in the opset that patches write, except that of Cast.
  if (!node.attributes().empty() && !IsOp(&node, "Cast")) return std::nullopt;
  const std::vector<SymInt> to = *facts_.DimsOf(node.output(0));
  const int rank = static_cast<int>(to.size());
  std::optional<PairAxes> found;
  for (Value* input : node.inputs()) {
    if (input == nullptr) continue;
    const std::optional<PairAxes> axes = AxesOf(input);
    if (!axes.has_value()) continue;
    const int missing = rank - facts_.RankOf(input);
    const PairAxes aligned = {axes->queries + missing, axes->keys + missing};
    const std::vector<SymInt>& dims = *facts_.DimsOf(input);
    if (found.has_value() && !(*found == aligned)) return std::nullopt;
    if (dims[axes->queries] != to[aligned.queries] || dims[axes->keys] != to[aligned.keys]) {
      return std::nullopt;
    }
    found = aligned;
  }
  if (!found.has_value()) return std::nullopt;
  for (Value* input : node.inputs()) {
    if (input == nullptr || AxesOf(input).has_value()) continue;
    if (!RepeatsAlong(input, rank, *found)) return std::nullopt;
  }
  return found;
}

bool Distances::RepeatsAlong(const Value* input, int rank, const PairAxes& axes) {
  const std::vector<SymInt>* dims = facts_.DimsOf(input);
  if (dims == nullptr) return false;
  const int missing = rank - static_cast<int>(dims->size());
  const auto repeats = [&](int axis) {
    return axis < missing || (*dims)[axis - missing].is_constant(1);
  };
  return repeats(axes.queries) && repeats(axes.keys);
}

// A lookup of rows of a table by indices that depend on distances.
std::optional<PairAxes> Distances::OfGather(const Node& node) {
  const std::optional<PairAxes> axes = AxesOf(node.input(1));
  const int rank = facts_.RankOf(node.input(0));
  if (!axes.has_value() || rank < 1 || AxesOf(node.input(0)).has_value()) return std::nullopt;
  const auto axis = AttributeOr<int64_t>(node, "axis", 0);
  const int before = static_cast<int>(axis < 0 ? axis + rank : axis);
  return PairAxes{axes->queries + before, axes->keys + before};
}

std::optional<PairAxes> Distances::OfTranspose(const Node& node) {
  const std::optional<PairAxes> axes = AxesOf(node.input(0));
  const auto permutation = PermutationOf(node, facts_.RankOf(node.input(0)));
  if (!axes.has_value() || !permutation.has_value()) return std::nullopt;
  const auto place = [&](int axis) {
    return static_cast<int>(absl::c_find(*permutation, axis) - permutation->begin());
  };
  return PairAxes{place(axes->queries), place(axes->keys)};
}

std::optional<std::vector<int64_t>> Distances::NamedAxes(const Node& node, int rank) {
  if (node.inputs().size() < 2 || node.input(1) == nullptr) return std::nullopt;
  auto axes = KnownInts(node.input(1), facts_);
  if (!axes.has_value()) return std::nullopt;
  for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  return axes;
}

std::optional<PairAxes> Distances::OfUnsqueeze(const Node& node) {
  const std::optional<PairAxes> axes = AxesOf(node.input(0));
  const int rank = facts_.RankOf(node.output(0));
  const auto added = NamedAxes(node, rank);
  if (!axes.has_value() || !added.has_value()) return std::nullopt;
  std::vector<int> places;
  for (int axis = 0; axis < rank; ++axis) {
    if (!absl::c_linear_search(*added, axis)) places.push_back(axis);
  }
  return PairAxes{places[axes->queries], places[axes->keys]};
}

std::optional<PairAxes> Distances::OfSqueeze(const Node& node) {
  const std::optional<PairAxes> axes = AxesOf(node.input(0));
  const auto dropped = NamedAxes(node, facts_.RankOf(node.input(0)));
  if (!axes.has_value() || !dropped.has_value()) return std::nullopt;
  if (absl::c_linear_search(*dropped, axes->queries)) return std::nullopt;
  if (absl::c_linear_search(*dropped, axes->keys)) return std::nullopt;
  const auto before = [&](int axis) {
    return static_cast<int>(absl::c_count_if(*dropped, [&](int64_t at) { return at < axis; }));
  };
  return PairAxes{axes->queries - before(axes->queries), axes->keys - before(axes->keys)};
}

}  // namespace attnrun::opt
