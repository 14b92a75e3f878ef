// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/reduction.h"

#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// True if the only axis that an Unsqueeze adds, or that a reduction takes, is the last one.
bool IsLastAxis(const Node& node, Facts& facts) {
  const auto axes = KnownInts(node, "axes", 1, facts);
  if (!axes.has_value() || axes->size() != 1) return false;
  const Value* widest = IsOp(&node, "Unsqueeze") ? node.output(0) : node.input(0);
  return (*axes)[0] == -1 || (*axes)[0] == facts.RankOf(widest) - 1;
}

}  // namespace

std::optional<int64_t> ReducedAxis(const Node& node, absl::string_view op_type, Facts& facts) {
  if (!node.domain().empty() || node.op_type() != op_type) return std::nullopt;
  if (AttributeOr<int64_t>(node, "keepdims", 1) == 0) return std::nullopt;
  const auto axes = KnownInts(node, "axes", 1, facts);
  if (!axes.has_value() || axes->size() != 1) return std::nullopt;
  const int64_t axis = (*axes)[0];
  const int rank = facts.RankOf(node.input(0));
  if (axis == -1 || axis == rank - 1) return -1;
  if (axis < 0 && rank < 0) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<AxisReduction> FindReduction(const Value* value, absl::string_view op_type,
                                           Facts& facts) {
  Node* last = value->producer();
  if (last == nullptr) return std::nullopt;
  const auto axis = ReducedAxis(*last, op_type, facts);
  if (axis.has_value()) return AxisReduction{{last}, *axis};
  Node* reduction = IsOp(last, "Unsqueeze") ? last->input(0)->producer() : nullptr;
  if (!IsOp(reduction, op_type)) return std::nullopt;
  const bool goes = AttributeOr<int64_t>(*reduction, "keepdims", 1) == 0;
  if (!goes || !IsLastAxis(*last, facts) || !IsLastAxis(*reduction, facts)) return std::nullopt;
  return AxisReduction{{last, reduction}, -1};
}

}  // namespace attnrun::opt
