// SPDX-License-Identifier: Apache-2.0
// Axis rules of attention and of the operators on heads.
#include <utility>

#include "ops/attention/attention.h"
#include "ops/attention/fused_attention.h"
#include "ops/attention/head_normalization.h"
#include "ops/attention/rotary_embedding.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// The axis that has the role; kNone if the layout lacks the role, nullopt if it is only a part of
// an axis.
std::optional<int> AxisOfRole(const HeadLayout& layout, char role) {
  for (size_t i = 0; i < layout.axes.size(); ++i) {
    const auto& [offset, factors] = layout.axes[i];
    for (const HeadLayout::Factor& factor : factors) {
      if (factor.role != role) continue;
      const bool whole = offset == 0 && factors.size() == 1 && factor.size == HeadLayout::kRest;
      return whole ? std::optional(static_cast<int>(i)) : std::nullopt;
    }
  }
  return AxisTrack::kNone;
}

}  // namespace

// With a causal mask or windows, the result of a query depends on its position, so queries have no
// track. Heads have none if several heads of Q share a head of K and V.
void Attention::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, kQ).value_or(0);
  if (rank != 3 && rank != 4) return;
  const bool split = rank == 4;
  const Dims& q = *context.input(kQ).dims;
  const size_t query = split ? 2 : 1;
  const Dims scores = {q[0], split ? q[1] : SymInt(query_heads_), q[query], SymInt::Unknown()};
  const auto add = [&](AxisTrack track, size_t axis_of_scores) {
    if (AddOperand(context, kMask, scores, axis_of_scores, track)) context.Add(std::move(track));
  };
  add(context.Track({{kQ, 0}, {kK, 0}, {kV, 0}, {kPastKey, 0}, {kPastValue, 0}, {kValidKeys, 0}},
                    {{kY, 0}, {kPresentKey, 0}, {kPresentValue, 0}, {kScores, 0}}),
      0);
  if (!causal_ && left_window_ < 0 && right_window_ < 0) {
    add(context.Track({{kQ, query}}, {{kY, query}, {kScores, 2}}), 2);
  }
  if (!split) return;
  if (RankOf(context, kK) == rank && (*context.input(kK).dims)[1] == q[1]) {
    add(context.Track({{kQ, 1}, {kK, 1}, {kV, 1}, {kPastKey, 1}, {kPastValue, 1}},
                      {{kY, 1}, {kPresentKey, 1}, {kPresentValue, 1}, {kScores, 1}}),
        1);
  }
  context.Add({{kV, 3}, {kPastValue, 3}}, {{kY, 3}, {kPresentValue, 3}});
}

// Tracks of samples and queries, whose places count if position masks keys: y [B, S, N * H],
// probabilities [B, N, S, T].
void FusedAttention::Axes(AxesContext& context) const {
  if (!status_.ok() || !context.output(0).dims.has_value()) return;
  const Dims& y = *context.output(0).dims;
  if (y.size() != 3) return;
  const Dims scores = {y[0], SymInt::Unknown(), y[1], SymInt::Unknown()};
  AddRole(context, 'b', {kQuery, kKey, kValue}, scores, 0);
  AddRole(context, 's', {kQuery}, scores, 2);
}

void FusedAttention::AddRole(AxesContext& context, char role, std::initializer_list<int> operands,
                             const Dims& scores, size_t axis_of_scores) const {
  const size_t axis_of_y = axis_of_scores == 0 ? 0 : 1;
  AxisTrack track = context.Track({}, {{0, axis_of_y}, {1, axis_of_scores}});
  for (const int i : operands) {
    const std::optional<int> axis = AxisOfRole(layouts_[i], role);
    if (axis == AxisTrack::kNone) continue;
    if (!axis.has_value() || RankOf(context, i) != layouts_[i].axes.size()) return;
    const SymInt& extent = (*context.input(i).dims)[*axis];
    if (extent != scores[axis_of_scores] && !extent.is_constant(1)) return;
    (extent == scores[axis_of_scores] ? track.inputs : track.ones)[i] = *axis;
  }
  for (const int i : {kBias, kMask, kSinks}) {
    if (!AddOperand(context, i, scores, axis_of_scores, track)) return;
  }
  const bool by_place = causal() || left_window_ >= 0 || right_window_ >= 0;
  if (role == 's' && by_place) return context.AddPlaced(std::move(track));
  context.Add(std::move(track));
}

// X [B, S, W] or [B, N, S, H]; position ids [B, S], or caches [B, S, pairs], broadcast to it.
void RotaryEmbedding::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  if (rank != 3 && rank != 4) return;
  const Dims& x = *context.input(0).dims;
  const Dims positions = {x[0], x[rank - 2]};
  const Dims angles = {x[0], x[rank - 2], SymInt::Unknown()};
  for (const size_t axis : {0, 1}) {
    const size_t axis_of_x = axis == 0 ? 0 : rank - 2;
    AxisTrack track = context.Track({{0, axis_of_x}}, {{0, axis_of_x}});
    const bool plain = context.has_input(3) ? AddOperand(context, 3, positions, axis, track)
                                            : AddOperand(context, 1, angles, axis, track) &&
                                                  AddOperand(context, 2, angles, axis, track);
    if (plain) context.Add(std::move(track));
  }
  if (rank == 4) context.Add({{0, 1}}, {{0, 1}});
}

void HeadRmsNormalization::Axes(AxesContext& context) const { AddLeadingAxes(context); }

}  // namespace attnrun::ops
