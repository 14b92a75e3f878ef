// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rows/row_operands.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "ops/attention/fused_attention.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/axes.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {
namespace {

// The number of positions that the layout of an Attention's operand describes.
SymInt Positions(const Node& node, int input, Facts& facts) {
  const auto layout = ops::HeadLayout::Parse(
      AttributeOr<std::string>(node, ops::FusedAttention::kLayoutNames[input], "b n s h"));
  const std::vector<SymInt>* dims = facts.DimsOf(node.input(input));
  if (!layout.ok() || dims == nullptr) return SymInt::Unknown();
  return layout->Extent('s', *dims).value_or(SymInt::Unknown());
}

// The attribute `causal` of an Attention that computes the selected queries alone; nullopt for
// other nodes, and if no value of it describes where these queries stand among the keys.
std::optional<int64_t> CausalOfSelected(const Node& node, SelectedPlace place, Facts& facts) {
  if (!IsFusedAttention(node)) return std::nullopt;
  const int64_t causal = AttributeOr<int64_t>(node, "causal", 0);
  const SymInt queries = Positions(node, ops::FusedAttention::kQuery, facts);
  const bool square = queries == Positions(node, ops::FusedAttention::kKey, facts) &&
                      queries == Positions(node, ops::FusedAttention::kValue, facts);
  if (place == SelectedPlace::kFirst && causal == 2 && square) return 1;
  if (place == SelectedPlace::kFirst && causal != 2) return causal;
  // The remaining queries then stand at the last keys, as `causal` = 2 means.
  if (place == SelectedPlace::kLast && (causal == 2 || (causal == 1 && square))) return 2;
  return std::nullopt;
}

}  // namespace

std::optional<RowOperands> RowOperandsOf(const Node& node, int axis, SelectedPlace place,
                                         Facts& facts) {
  if (node.output(0) == nullptr || facts.RankOf(node.output(0)) <= axis) return std::nullopt;
  const ops::AxisRule rule = AxesOf(node, facts);
  RowOperands rows{axis, {}, std::nullopt};
  const ops::AxisTrack* track = rule.OfOutput(0, axis);
  if (track == nullptr) {
    rows.causal = CausalOfSelected(node, place, facts);
    if (rows.causal.has_value()) track = rule.PlacedOfOutput(0, axis);
  }
  if (track == nullptr) return std::nullopt;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) != nullptr && track->outputs[i] != axis) return std::nullopt;
  }
  const ops::AxisTrack* samples = rule.OfOutput(0, 0);
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (track->inputs[i] == ops::AxisTrack::kNone) continue;
    const bool by_sample = samples != nullptr && samples->inputs[i] == 0;
    rows.operands.push_back({i, track->inputs[i], by_sample});
  }
  // Columns of a weight stay together.
  const auto is_constant = [&](const OperandAxis& operand) {
    return node.input(operand.input)->is_constant();
  };
  if (absl::c_all_of(rows.operands, is_constant)) return std::nullopt;
  // The shape of a node that keeps the order is written anew.
  const bool follows = ops::TraitsOf(node).keeps_order || FollowsInputs(node, *track, facts);
  return follows ? std::optional(std::move(rows)) : std::nullopt;
}

std::vector<Value*> AtSelectedRows(Patch& patch, Facts& facts, const Node& node,
                                   const RowOperands& rows, const std::vector<Value*>& inputs,
                                   absl::Span<Value* const> like) {
  if (ops::TraitsOf(node).keeps_order) {
    std::vector<SymInt> to = *facts.DimsOf(node.output(0));
    const std::vector<SymInt>* from = facts.DimsOf(inputs[0]);
    if (from == nullptr) return {nullptr};
    to[rows.axis] = (*from)[rows.operands.front().axis];
    std::vector<Value*> extents = {inputs[0]};
    extents.insert(extents.end(), like.begin(), like.end());
    return {ReshapeTo(patch, inputs[0], to, extents)};
  }
  AttributeMap attributes = node.attributes();
  if (rows.causal.has_value()) attributes["causal"] = *rows.causal;
  return patch.Again(node, inputs, attributes);
}

}  // namespace attnrun::opt
