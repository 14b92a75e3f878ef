// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rows/attention_rows.h"

#include <string>

#include "absl/algorithm/container.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// The number of positions that the operand's layout describes.
SymInt Positions(const Node& node, int input, Facts& facts) {
  const auto layout = ops::HeadLayout::Parse(
      AttributeOr<std::string>(node, ops::FusedAttention::kLayoutNames[input], "b n s h"));
  const std::vector<SymInt>* dims = facts.DimsOf(node.input(input));
  if (!layout.ok() || dims == nullptr) return SymInt::Unknown();
  return layout->Extent('s', *dims).value_or(SymInt::Unknown());
}

}  // namespace

bool AddBroadcastRows(const Node& node, size_t i, const std::vector<SymInt>& to, int axis,
                      Facts& facts, std::vector<OperandAxis>& operands) {
  if (node.input(i) == nullptr) return true;
  const std::vector<SymInt>* dims = facts.DimsOf(node.input(i));
  if (dims == nullptr || dims->size() > to.size()) return false;
  const int at = axis - static_cast<int>(to.size() - dims->size());
  if (at < 0 || (*dims)[at].is_constant(1)) return true;
  if ((*dims)[at] != to[axis]) return false;
  operands.push_back({i, at});
  return true;
}

std::optional<int64_t> CausalOfSelected(const Node& node, SelectedPlace place, Facts& facts) {
  const int64_t causal = AttributeOr<int64_t>(node, "causal", 0);
  const bool windows = AttributeOr<int64_t>(node, "left_window", -1) >= 0 ||
                       AttributeOr<int64_t>(node, "right_window", -1) >= 0;
  if (causal == 0 && !windows) return causal;
  const SymInt queries = Positions(node, ops::FusedAttention::kQuery, facts);
  const bool square = queries == Positions(node, ops::FusedAttention::kKey, facts) &&
                      queries == Positions(node, ops::FusedAttention::kValue, facts);
  if (place == SelectedPlace::kFirst && causal == 2 && square) return 1;
  if (place == SelectedPlace::kFirst && causal != 2) return causal;
  // The remaining queries then stand at the last keys, as `causal` = 2 means.
  if (place == SelectedPlace::kLast && (causal == 2 || (causal == 1 && square))) return 2;
  return std::nullopt;
}

std::optional<std::vector<OperandAxis>> AttentionRowOperands(const Node& node, int axis,
                                                             SelectedPlace place, Facts& facts) {
  constexpr int kQueries = 1;
  if (axis != kQueries || node.output(1) != nullptr) return std::nullopt;
  if (!CausalOfSelected(node, place, facts).has_value()) return std::nullopt;
  const auto layout = ops::HeadLayout::Parse(AttributeOr<std::string>(
      node, ops::FusedAttention::kLayoutNames[ops::FusedAttention::kQuery], "b n s h"));
  if (!layout.ok()) return std::nullopt;
  const ops::HeadLayout::Axis positions = {0, {{'s', ops::HeadLayout::kRest}}};
  const auto found = absl::c_find(layout->axes, positions);
  if (found == layout->axes.end()) return std::nullopt;
  std::vector<OperandAxis> operands = {
      {ops::FusedAttention::kQuery, static_cast<int>(found - layout->axes.begin())}};
  // Only the extent of queries in the scores [B, N, S, T] matters here.
  std::vector<SymInt> scores(4, SymInt::Unknown());
  scores[2] = (*facts.DimsOf(node.output(0)))[kQueries];
  for (const size_t i :
       {ops::FusedAttention::kBias, ops::FusedAttention::kMask, ops::FusedAttention::kSinks}) {
    if (!AddBroadcastRows(node, i, scores, 2, facts, operands)) return std::nullopt;
  }
  return operands;
}

}  // namespace attnrun::opt
