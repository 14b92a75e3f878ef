// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_NODE_QUERIES_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_NODE_QUERIES_H_

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "ops/interface/registry.h"

namespace attnrun::opt {

// True if the node is this operator of the standard domain; false for null.
inline bool IsOp(const Node* node, absl::string_view op_type) {
  return node != nullptr && node->domain().empty() && node->op_type() == op_type;
}

// True for attnrun.Linear, whatever the format of its weights.
inline bool IsLinear(const Node& node) {
  return node.op_type() == "Linear" && node.domain() == "attnrun";
}

// True for attnrun.Attention.
inline bool IsFusedAttention(const Node& node) {
  return node.op_type() == "Attention" && node.domain() == "attnrun";
}

// True for null, which stands for an optional input that is left out.
inline bool IsConstantOrLeftOut(const Value* value) {
  return value == nullptr || value->is_constant();
}

// The only reader of the value; null if the value has other readers or is a graph output, or if the
// reader does not compute its first output.
inline Node* OnlyReader(const Graph& graph, const Value* value) {
  if (value->consumers().size() != 1 || graph.IsOutput(value)) return nullptr;
  Node* reader = value->consumers()[0];
  return reader->output(0) == nullptr ? nullptr : reader;
}
// The same if it is this operator of the standard domain, else null.
inline Node* OnlyReader(const Graph& graph, const Value* value, absl::string_view op_type) {
  Node* reader = OnlyReader(graph, value);
  return IsOp(reader, op_type) ? reader : nullptr;
}

// The input that is not `operand`, of a node that has two inputs.
inline Value* OtherOperand(const Node& node, const Value* operand) {
  return node.input(node.input(0) == operand ? 1 : 0);
}

// The producer of a value if it is this operator of the standard domain, else null.
inline Node* ProducerOf(const Value* value, absl::string_view op_type) {
  Node* node = value == nullptr ? nullptr : value->producer();
  return IsOp(node, op_type) ? node : nullptr;
}

// The entry for the node in a table of operators of the standard domain; null if it has none.
template <typename Table>
const auto* EntryOf(const Table& table, const Node* node) {
  const auto* entry =
      absl::c_find_if(table, [&](const auto& candidate) { return IsOp(node, candidate.first); });
  return entry == std::end(table) ? nullptr : entry;
}

// A way to read a node of two inputs.
struct Operands {
  Value* first = nullptr;
  Value* second = nullptr;
};
using Readings = absl::InlinedVector<Operands, 2>;

// The ways to read a node of two inputs: one, or two if the inputs may change places. None for
// other nodes and null.
inline Readings ReadingsOf(const Node* node) {
  if (node == nullptr || node->inputs().size() != 2) return {};
  const Operands as_written = {node->input(0), node->input(1)};
  const ops::OpTraits& traits = ops::TraitsOf(*node);
  if (!traits.commutes && !traits.nearly_commutes) return {as_written};
  return {as_written, {as_written.second, as_written.first}};
}
// The same for a Mul or Div, as a value and its factor or divisor, and for an Add or Sub. None for
// other operators.
inline Readings ScalingsOf(const Node* node) {
  return IsOp(node, "Mul") || IsOp(node, "Div") ? ReadingsOf(node) : Readings();
}
inline Readings SumsOf(const Node* node) {
  return IsOp(node, "Add") || IsOp(node, "Sub") ? ReadingsOf(node) : Readings();
}

// True for those of them that undo a Mul or an Add.
inline bool IsDivOrSub(const Node* node) { return IsOp(node, "Div") || IsOp(node, "Sub"); }

// A node's attribute; `otherwise` if the node lacks it or if it is of another kind, as in a model
// that was never checked.
template <typename T>
T AttributeOr(const Node& node, absl::string_view name, T otherwise) {
  const AttributeValue* value = node.attribute(name);
  const T* typed = value == nullptr ? nullptr : std::get_if<T>(value);
  if (typed == nullptr) return otherwise;
  return *typed;
}

// The attribute `axis` of a node on a tensor of `rank` axes (-1: not known), counted from the
// front; nullopt if there is no such axis.
inline std::optional<int> AxisOf(const Node& node, int rank, int64_t otherwise = 0) {
  const auto axis = AttributeOr<int64_t>(node, "axis", otherwise);
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// True if that is the last axis, as -1 is whatever the rank.
inline bool IsAlongLast(const Node& node, int rank, int64_t otherwise = 0) {
  const auto axis = AttributeOr<int64_t>(node, "axis", otherwise);
  return axis == -1 || (rank > 0 && axis == rank - 1);
}

// The permutation that exchanges the last two of `rank` axes, of which there must be two.
inline std::vector<int64_t> SwapOfLastTwo(int rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return permutation;
}

// True if the node is a Transpose with this permutation as its attribute.
inline bool IsTranspose(const Node* node, const std::vector<int64_t>& permutation) {
  return IsOp(node, "Transpose") &&
         AttributeOr<std::vector<int64_t>>(*node, "perm", {}) == permutation;
}

// The permutation of a Transpose of a value of `rank` axes; nullopt if the attribute is no
// permutation of them, as in a model that was never checked.
inline std::optional<std::vector<int64_t>> PermutationOf(const Node& transpose, int rank) {
  std::vector<int64_t> axes(std::max(rank, 0));
  std::iota(axes.rbegin(), axes.rend(), 0);
  auto permutation = AttributeOr(transpose, "perm", axes);
  if (!absl::c_is_permutation(permutation, axes)) return std::nullopt;
  return permutation;
}

// True if a Transpose leaves the last axis in its place.
inline bool KeepsLastAxis(const Node& transpose) {
  const auto permutation = AttributeOr<std::vector<int64_t>>(transpose, "perm", {});
  return !permutation.empty() && permutation.back() == std::ssize(permutation) - 1;
}

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_NODE_QUERIES_H_
