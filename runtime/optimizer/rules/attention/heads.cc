// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/heads.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/attention/head_views.h"

namespace attnrun::opt {
namespace {

// The operand's axes as [batch, heads, rows, channels].
std::optional<View> Grouped(const View& view, bool transposed, const AxisMap& axes) {
  const int rank = view.rank();
  if (rank < 2) return std::nullopt;
  return axes.Apply(transposed ? view.Transposed(SwapOfLastTwo(rank)) : view, 1);
}

// True if neighbours along the axis are the same element.
bool Repeats(const ViewAxis& axis) { return !axis.empty() && axis.back().stride.is_constant(0); }

// The operand rearranged to [batch, heads, rows, channels].
std::optional<HeadOperand> Arranged(const Traced& operand, HeadRole role, bool transposed,
                                    const AxisMap& axes, SharedHeads shared) {
  const int rank = operand.view.rank();
  if (rank < 2) return std::nullopt;
  const View rows = transposed ? operand.view.Transposed(SwapOfLastTwo(rank)) : operand.view;
  const auto dims = axes.Extents(rows.Dims(), 1);
  if (!dims.has_value()) return std::nullopt;
  // Heads are all there, or all alike.
  const bool alike = (*dims)[1].is_constant(1) && shared == SharedHeads::kOnce;
  if (role == HeadRole::kQuery && !alike && (*dims)[1] != axes.ExtentOf(1)) return std::nullopt;
  if (shared == SharedHeads::kRepeated && (*dims)[1] != axes.ExtentOf(1)) return std::nullopt;
  auto layout = LayoutOf(View::Dense(*dims).Transposed({0, 2, 1, 3}), *dims);
  if (!layout.has_value()) return std::nullopt;
  HeadOperand result = {operand.base, *std::move(layout), operand.scale, (*dims)[1]};
  result.arrangement = {axes, transposed};
  return result;
}

}  // namespace

std::optional<HeadOperand> AsOperand(const Traced& traced, View heads, HeadRole role,
                                     SharedHeads shared, Facts& facts) {
  constexpr int kPositionAxis = 1;
  constexpr int kHeadAxis = 2;
  // The operator counts queries and keys by the operand, which must therefore hold each of them.
  if (Repeats(heads.axes()[kPositionAxis])) return std::nullopt;
  if (role != HeadRole::kQuery && shared == SharedHeads::kOnce) {
    heads = heads.WithoutRepeats(kHeadAxis);
  }
  const ViewAxis& axis = heads.axes()[kHeadAxis];
  const bool repeats = Repeats(axis);
  // The axis of heads is left out where all heads are alike. Where only the heads of a group are,
  // each needs its place.
  if (repeats && axis.size() > 1) return std::nullopt;
  if (repeats && role == HeadRole::kQuery) heads = heads.WithoutRepeats(kHeadAxis);
  if (repeats && shared == SharedHeads::kRepeated) return std::nullopt;
  auto layout = LayoutOf(heads, *facts.DimsOf(traced.base));
  if (!layout.has_value()) return std::nullopt;
  return HeadOperand{traced.base, *std::move(layout), traced.scale, heads.Extent(kHeadAxis)};
}

bool HasRole(absl::Span<const ops::HeadLayout> layouts, char role) {
  const auto is_role = [&](const ops::HeadLayout::Factor& factor) { return factor.role == role; };
  return absl::c_any_of(layouts, [&](const ops::HeadLayout& layout) {
    return absl::c_any_of(layout.axes, [&](const ops::HeadLayout::Axis& axis) {
      return absl::c_any_of(axis.factors, is_role);
    });
  });
}

HeadOperand OfWholeRows(HeadOperand operand, Facts& facts) {
  const Node* reshape = operand.value->producer();
  if (!operand.reshaped.empty() || !IsOp(reshape, "Reshape")) return operand;
  const std::vector<SymInt>* from = facts.DimsOf(reshape->input(0));
  const std::vector<SymInt> heads = *facts.DimsOf(operand.value);
  if (from == nullptr || from->empty() || operand.layout.ToString() != "b s n h") return operand;
  const SymInt channels = heads[2] * heads[3];
  if (from->back() != channels) return operand;
  const std::vector<SymInt> rows = {heads[0], heads[1], channels};
  const auto view = View::Dense(rows).Reshaped(heads);
  auto layout = view.has_value() ? LayoutOf(*view, rows) : std::nullopt;
  if (!layout.has_value() || !ReshapeTarget(*from, rows).has_value()) return operand;
  operand.value = reshape->input(0);
  operand.layout = *std::move(layout);
  operand.reshaped = rows;
  return operand;
}

std::optional<HeadOperand> FindHeads(Value* value, HeadRole role, bool transposed,
                                     const AxisMap& axes, Facts& facts, SharedHeads shared) {
  // A constant factor on Q or K scales the scores; one on V does not.
  const std::vector<Traced> chain = Trace(value, facts, {.factors = role != HeadRole::kValue});
  for (size_t i = chain.size(); i-- > 0;) {
    const auto view = Grouped(chain[i].view, transposed, axes);
    if (!view.has_value()) continue;
    auto operand = AsOperand(chain[i], view->Transposed({0, 2, 1, 3}), role, shared, facts);
    if (operand.has_value()) return OfWholeRows(*std::move(operand), facts);
  }
  return chain.empty() ? std::nullopt : Arranged(chain[0], role, transposed, axes, shared);
}

}  // namespace attnrun::opt
