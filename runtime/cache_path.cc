// SPDX-License-Identifier: Apache-2.0
#include "cache_path.h"

#include <numeric>
#include <string>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun {
namespace {

bool IsLast(int64_t axis, int64_t rank) { return axis == -1 || axis == rank - 1; }

bool CutsOtherAxes(const Node& slice, int64_t rank) {
  const auto axes = slice.input(3) == nullptr ? std::nullopt : opt::IntsOf(slice.input(3));
  return axes.has_value() && absl::c_none_of(*axes, [&](int64_t a) { return IsLast(a, rank); });
}

bool KeepsRows(const Node& node, int64_t rank, opt::Facts& facts) {
  const std::string op = node.qualified_op_type();
  const auto axis = [&](int64_t otherwise) { return opt::AttributeOr(node, "axis", otherwise); };
  if (op == "Concat") return !IsLast(axis(0), rank);
  if (op == "TensorScatter") return !IsLast(axis(-2), rank);
  if (op == "Slice") return CutsOtherAxes(node, rank);
  if (op == "Transpose") return opt::KeepsLastAxis(node);
  // An index selects whole rows unless it has one number per axis.
  if (op == "ScatterND") return facts.Extent(node.input(1), -1).value_or(rank) < rank;
  if (op == "Where") return facts.Extent(node.input(0), -1) == 1;
  return op == "attnrun.AppendToCache";
}

// True if a node in a body reads the value.
bool IsReadInBody(const Value* value) {
  return absl::c_any_of(value->consumers(), [&](const Node* node) {
    return absl::c_linear_search(node->implicit_inputs(), value);
  });
}

// The input of the node through which a cache passes: the first (see state::Trail), but for Where,
// of whose two it is the past itself.
Value* CacheInput(const Node& node, const Value* past) {
  if (!opt::IsOp(&node, "Where")) return node.input(0);
  return node.input(1) == past ? node.input(1) : node.input(2);
}

}  // namespace

std::vector<int> MovedInputs(const Node& node) {
  const std::string op = node.qualified_op_type();
  if (op == "Concat") {
    std::vector<int> all(node.inputs().size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  if (op == "attnrun.AppendToCache" || op == "TensorScatter") return {0, 1};
  if (op == "Where") return {1, 2};
  if (op == "ScatterND" || op == "ScatterElements") {
    const std::string reduction = opt::AttributeOr<std::string>(node, "reduction", "none");
    return reduction == "none" ? std::vector<int>{0, 2} : std::vector<int>();
  }
  constexpr absl::string_view kViews[] = {"Slice", "Transpose", "Reshape", "Squeeze", "Unsqueeze"};
  return absl::c_linear_search(kViews, op) ? std::vector<int>{0} : std::vector<int>();
}

std::optional<std::vector<Value*>> CachePath(Value* past, Value* present) {
  std::vector<Value*> path = {present};
  while (path.back() != past) {
    const Node* const node = path.back()->producer();
    if (node == nullptr || MovedInputs(*node).empty()) return std::nullopt;
    path.push_back(CacheInput(*node, past));
  }
  if (absl::c_any_of(path, IsReadInBody)) return std::nullopt;
  absl::c_reverse(path);
  return path;
}

bool KeepsRows(absl::Span<Value* const> path, int64_t rank, opt::Facts& facts) {
  return absl::c_all_of(path.subspan(1), [&](const Value* value) {
    return KeepsRows(*value->producer(), rank, facts);
  });
}

}  // namespace attnrun
