// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/heads.h"

#include <algorithm>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/attention/head_views.h"

namespace attnrun::opt {
namespace {

// The operand's axes as [batch, heads, rows, channels].
std::optional<View> Grouped(View view, bool transposed, const HeadAxes& axes) {
  const int rank = view.rank();
  if (rank < 2) return std::nullopt;
  if (transposed) view = view.Transposed(SwapOfLastTwo(rank));
  const SymInt rows = view.Extent(rank - 2);
  const SymInt channels = view.Extent(rank - 1);
  std::vector<SymInt> full = axes.leading;
  // Keeps axes that are separate already, though an extent may have another symbol than the
  // scores': the operator compares them in each run.
  for (size_t i = 0; i < full.size() && static_cast<int>(full.size()) + 2 == rank; ++i) {
    const SymInt extent = view.Extent(static_cast<int>(i));
    const bool named = !extent.constant().has_value() && !full[i].constant().has_value();
    if (named) full[i] = extent;
  }
  full.push_back(rows);
  full.push_back(channels);
  auto result = view.Expanded(full);
  if (!result.has_value()) return std::nullopt;
  if (axes.leading.size() != 2) return result->Reshaped({axes.batch, axes.heads, rows, channels});
  return axes.heads_first ? result->Transposed({1, 0, 2, 3}) : *result;
}

// The operand itself as [batch, heads, rows, channels], or [batch, heads, channels, rows] if
// `transposed`, with its three leading axes joined to two. These must be those of the scores.
std::optional<HeadOperand> Joined(const Traced& traced, bool transposed, const HeadAxes& axes) {
  const std::vector<SymInt> dims = traced.view.Dims();
  const size_t leading = axes.leading.size();
  if (leading != 3 || dims.size() != leading + 2 ||
      !std::equal(axes.leading.begin(), axes.leading.end(), dims.begin())) {
    return std::nullopt;
  }
  const std::vector<SymInt> joined = {axes.batch, axes.heads, dims[leading], dims[leading + 1]};
  const std::vector<int64_t> order =
      transposed ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 2, 1, 3};
  auto layout = LayoutOf(View::Dense(joined).Transposed(order), joined);
  if (!layout.has_value()) return std::nullopt;
  return HeadOperand{traced.base, *std::move(layout), traced.scale, axes.heads, joined};
}

}  // namespace

std::optional<HeadOperand> AsOperand(const Traced& traced, View heads, HeadRole role,
                                     SharedHeads shared, Facts& facts) {
  constexpr int kHeadAxis = 2;
  if (role != HeadRole::kQuery && shared == SharedHeads::kOnce) {
    heads = heads.WithoutRepeats(kHeadAxis);
  }
  const ViewAxis& axis = heads.axes()[kHeadAxis];
  // K and V may leave the axis of heads out where all heads are alike; each head of Q needs its
  // place.
  const bool repeats = !axis.empty() && axis.back().stride.is_constant(0);
  if (repeats && (role == HeadRole::kQuery || shared == SharedHeads::kRepeated)) {
    return std::nullopt;
  }
  auto layout = LayoutOf(heads, *facts.DimsOf(traced.base));
  if (!layout.has_value()) return std::nullopt;
  return HeadOperand{traced.base, *std::move(layout), traced.scale, heads.Extent(kHeadAxis)};
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
                                     const HeadAxes& axes, Facts& facts, SharedHeads shared) {
  // A constant factor on Q or K scales the scores; one on V does not.
  const std::vector<Traced> chain = Trace(value, facts, {.factors = role != HeadRole::kValue});
  for (size_t i = chain.size(); i-- > 0;) {
    auto view = Grouped(chain[i].view, transposed, axes);
    if (!view.has_value()) continue;
    auto operand = AsOperand(chain[i], view->Transposed({0, 2, 1, 3}), role, shared, facts);
    if (operand.has_value()) return OfWholeRows(*std::move(operand), facts);
  }
  return chain.empty() ? std::nullopt : Joined(chain[0], transposed, axes);
}

}  // namespace attnrun::opt
