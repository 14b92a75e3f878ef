// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/reduction.h"

#include "ops/interface/infer_rules.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {

std::optional<int> OnlyAxis(const Node& node, int rank, Facts& facts) {
  const auto axes = KnownInts(node, "axes", 1, facts);
  if (rank < 0 || !axes.has_value() || axes->size() != 1) return std::nullopt;
  const auto axis = ops::KnownAxis(axes->front(), rank);
  return axis.has_value() ? std::optional(static_cast<int>(*axis)) : std::nullopt;
}

std::optional<std::vector<bool>> ReducedAxes(const Node& node, Facts& facts) {
  const int rank = facts.RankOf(node.input(0));
  const auto axes = KnownInts(node, "axes", 1, facts);
  if (rank < 1 || !axes.has_value() || axes->empty()) return std::nullopt;
  std::vector<bool> reduced(rank, false);
  for (const int64_t given : *axes) {
    const auto axis = ops::KnownAxis(given, rank);
    if (!axis.has_value()) return std::nullopt;
    reduced[*axis] = true;
  }
  return reduced;
}

std::optional<int64_t> ReducedAxis(const Node& node, absl::string_view op_type, Facts& facts) {
  if (!IsOp(&node, op_type) || AttributeOr<int64_t>(node, "keepdims", 1) == 0) return std::nullopt;
  const int rank = facts.RankOf(node.input(0));
  const auto axis = OnlyAxis(node, rank, facts);
  if (!axis.has_value()) return std::nullopt;
  return *axis == rank - 1 ? -1 : *axis;
}

std::optional<int64_t> SoftmaxAxis(const Node& softmax, Facts& facts) {
  const int rank = facts.RankOf(softmax.input(0));
  const int64_t axis = AttributeOr<int64_t>(softmax, "axis", softmax.opset() < 13 ? 1 : -1);
  if (axis == -1 || (rank >= 0 && axis == rank - 1)) return -1;
  if (softmax.opset() < 13 || (axis < 0 && rank < 0)) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<AxisReduction> FindReduction(const Value* value, absl::string_view op_type,
                                           Facts& facts) {
  Node* last = value->producer();
  if (last == nullptr) return std::nullopt;
  const auto axis = ReducedAxis(*last, op_type, facts);
  if (axis.has_value()) return AxisReduction{{last}, *axis};
  const Node* unsqueeze = ProducerOf(value, "Unsqueeze");
  Node* reduction = unsqueeze == nullptr ? nullptr : ProducerOf(last->input(0), op_type);
  if (reduction == nullptr) return std::nullopt;
  const int rank = facts.RankOf(value);
  if (AttributeOr<int64_t>(*reduction, "keepdims", 1) != 0) return std::nullopt;
  for (const Node* node : {unsqueeze, static_cast<const Node*>(reduction)}) {
    if (rank < 1 || OnlyAxis(*node, rank, facts) != rank - 1) return std::nullopt;
  }
  return AxisReduction{{last, reduction}, -1};
}

}  // namespace attnrun::opt
