// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rows/row_operands.h"

#include <array>
#include <string>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/rows/attention_rows.h"

namespace attnrun::opt {
namespace {

using Operands = std::optional<std::vector<OperandAxis>>;

template <size_t N>
bool IsOneOf(const Node& node, const std::array<absl::string_view, N>& ops) {
  return node.domain().empty() && absl::c_linear_search(ops, node.op_type());
}

bool OnlyReordersNothing(const Node& node) {
  static constexpr std::array<absl::string_view, 4> kOps = {"Reshape", "Flatten", "Squeeze",
                                                            "Unsqueeze"};
  return IsOneOf(node, kOps);
}

Operands OfElementwise(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  std::vector<OperandAxis> operands;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (!AddBroadcastRows(node, i, to, axis, facts, operands)) return std::nullopt;
  }
  return operands;
}

Operands OfLinear(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  if (axis + 1 == std::ssize(to)) return std::nullopt;
  std::vector<OperandAxis> operands = {{0, axis}};
  if (!AddBroadcastRows(node, 3, to, axis, facts, operands)) return std::nullopt;
  return operands;
}

// Covers normalizations whose scale and bias are the same for all rows.
Operands OfNormalization(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  const auto rank = std::ssize(to);
  const int64_t along = AttributeOr<int64_t>(node, "axis", -1);
  if (axis >= (along < 0 ? along + rank : along)) return std::nullopt;
  std::vector<OperandAxis> parameters;
  for (size_t i = 1; i < node.inputs().size(); ++i) {
    if (!AddBroadcastRows(node, i, to, axis, facts, parameters)) return std::nullopt;
  }
  if (!parameters.empty()) return std::nullopt;
  return std::vector<OperandAxis>{{0, axis}};
}

Operands OfReshape(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  const std::vector<SymInt>* from = facts.DimsOf(node.input(0));
  if (from == nullptr) return std::nullopt;
  const SymInt before = Product({to.begin(), to.begin() + axis});
  SymInt product(1);
  for (size_t i = 0; i < from->size(); ++i) {
    if (product == before && (*from)[i] == to[axis]) {
      return std::vector<OperandAxis>{{0, static_cast<int>(i)}};
    }
    product = product * (*from)[i];
  }
  return std::nullopt;
}

Operands OfTranspose(const Node& node, const std::vector<SymInt>& to, int axis) {
  const auto permutation = PermutationOf(node, static_cast<int>(to.size()));
  if (!permutation.has_value()) return std::nullopt;
  return std::vector<OperandAxis>{{0, static_cast<int>((*permutation)[axis])}};
}

// Covers A [..., S, K] times a B that is the same for all rows.
Operands OfMatMul(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  const auto rank = std::ssize(to);
  if (axis + 2 != rank || facts.RankOf(node.input(0)) != rank) return std::nullopt;
  if (facts.RankOf(node.input(1)) < 2) return std::nullopt;
  return std::vector<OperandAxis>{{0, axis}};
}

// Covers operators that work along one axis, for the other axes.
Operands OfOtherAxis(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  const auto rank = std::ssize(to);
  const bool last = node.op_type() == "Softmax" || !node.domain().empty();
  int64_t along = AttributeOr<int64_t>(node, "axis", last ? -1 : 0);
  if (IsOp(&node, "Softmax") && node.opset() < 13) return std::nullopt;
  if (IsOp(&node, "Split")) {
    const bool sizes = node.input(1) != nullptr || node.attribute("num_outputs") != nullptr;
    if (!sizes) return std::nullopt;
  }
  if (along < 0) along += rank;
  if (along == axis) return std::nullopt;
  std::vector<OperandAxis> operands;
  const size_t count = IsOp(&node, "Concat") ? node.inputs().size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const std::vector<SymInt>* dims = facts.DimsOf(node.input(i));
    if (dims == nullptr || std::ssize(*dims) != rank || (*dims)[axis] != to[axis]) {
      return std::nullopt;
    }
    operands.push_back({i, axis});
  }
  return operands;
}

// Covers a Slice or Gather along other axes.
Operands OfSlice(const Node& node, int axis, Facts& facts) {
  const auto axes = KnownInts(node.input(3), facts);
  const int rank = facts.RankOf(node.input(0));
  if (!axes.has_value() || rank < 0) return std::nullopt;
  const auto along = [&](int64_t sliced) { return (sliced < 0 ? sliced + rank : sliced) == axis; };
  if (absl::c_any_of(*axes, along)) return std::nullopt;
  return std::vector<OperandAxis>{{0, axis}};
}

Operands OfGather(const Node& node, int axis, Facts& facts) {
  const int rank = facts.RankOf(node.input(0));
  const int index_rank = facts.RankOf(node.input(1));
  if (rank < 0 || index_rank < 0) return std::nullopt;
  int64_t along = AttributeOr<int64_t>(node, "axis", 0);
  if (along < 0) along += rank;
  if (axis < along) return std::vector<OperandAxis>{{0, axis}};
  if (axis < along + index_rank) return std::nullopt;
  return std::vector<OperandAxis>{{0, axis - index_rank + 1}};
}

Operands OfRotary(const Node& node, const std::vector<SymInt>& to, int axis, Facts& facts) {
  const int positions = to.size() == 4 ? 2 : 1;
  if (axis != positions) return std::nullopt;
  std::vector<OperandAxis> operands = {{0, axis}};
  const bool by_id = node.input(3) != nullptr;
  for (const size_t i : {1, 2, 3}) {
    if (by_id != (i == 3)) continue;
    const std::vector<SymInt>* dims = facts.DimsOf(node.input(i));
    if (dims == nullptr || dims->size() < 2) return std::nullopt;
    if ((*dims)[1].is_constant(1)) continue;
    if ((*dims)[1] != to[axis]) return std::nullopt;
    operands.push_back({i, 1});
  }
  return operands;
}

}  // namespace

std::optional<std::vector<OperandAxis>> RowOperandsOf(const Node& node, int axis,
                                                      SelectedPlace place, Facts& facts) {
  const std::vector<SymInt>* dims =
      node.output(0) == nullptr ? nullptr : facts.DimsOf(node.output(0));
  if (dims == nullptr || axis >= std::ssize(*dims) || !node.implicit_inputs().empty()) {
    return std::nullopt;
  }
  const std::vector<SymInt> to = *dims;
  if (IsLinear(node) || node.qualified_op_type() == "attnrun.GatedActivation") {
    return OfLinear(node, to, axis, facts);
  }
  if (node.qualified_op_type() == "attnrun.HeadRmsNormalization") {
    return OfOtherAxis(node, to, axis, facts);
  }
  if (node.qualified_op_type() == "attnrun.Attention")
    return AttentionRowOperands(node, axis, place, facts);
  if (ops::TraitsOf(node).elementwise) return OfElementwise(node, to, axis, facts);
  if (IsOp(&node, "MatMul")) return OfMatMul(node, to, axis, facts);
  if (IsOp(&node, "Transpose")) return OfTranspose(node, to, axis);
  if (IsOp(&node, "Slice")) return OfSlice(node, axis, facts);
  if (IsOp(&node, "Gather")) return OfGather(node, axis, facts);
  if (node.op_type() == "RotaryEmbedding") return OfRotary(node, to, axis, facts);
  if (OnlyReordersNothing(node)) return OfReshape(node, to, axis, facts);
  static constexpr std::array<absl::string_view, 3> kAlongOne = {"Softmax", "Split", "Concat"};
  if (IsOneOf(node, kAlongOne)) return OfOtherAxis(node, to, axis, facts);
  static constexpr std::array<absl::string_view, 2> kNorms = {"LayerNormalization",
                                                              "RMSNormalization"};
  const bool statistics = node.output(1) != nullptr || node.output(2) != nullptr;
  if (!IsOneOf(node, kNorms) || statistics) return std::nullopt;
  return OfNormalization(node, to, axis, facts);
}

std::vector<Value*> AtSelectedRows(Patch& patch, Facts& facts, const Node& node, int axis,
                                   SelectedPlace place, const std::vector<Value*>& inputs,
                                   absl::Span<Value* const> like) {
  if (OnlyReordersNothing(node)) {
    std::vector<SymInt> to = *facts.DimsOf(node.output(0));
    const auto operands = OfReshape(node, to, axis, facts);
    const std::vector<SymInt>* from = facts.DimsOf(inputs[0]);
    if (from == nullptr) return {nullptr};
    to[axis] = (*from)[operands->front().axis];
    std::vector<Value*> extents = {inputs[0]};
    extents.insert(extents.end(), like.begin(), like.end());
    return {ReshapeTo(patch, facts, inputs[0], to, extents)};
  }
  AttributeMap attributes = node.attributes();
  if (node.qualified_op_type() == "attnrun.Attention") {
    attributes.insert_or_assign("causal", *CausalOfSelected(node, place, facts));
  }
  return patch.Ops(OpNameOf(node), static_cast<int>(node.outputs().size()), inputs, attributes,
                   node.name());
}

}  // namespace attnrun::opt
