// SPDX-License-Identifier: Apache-2.0

// A sum, mean or maximum does not depend on the order of elements, so a reduction reads its input
// before a Transpose or Reshape. Models of images write a mean as a pooling, which becomes a
// ReduceMean:
//
//   x [B, S, D] -> Transpose [B, D, S] -> GlobalAveragePool [B, D, 1] -> Reshape [B, D]
//   -->
//   ReduceMean(x, axis 1) [B, D]
//
// Covers ReduceMean, ReduceSum, ReduceMax and ReduceMin if the reduced axes are axes of x, in any
// order, or have extent 1, and the others stay in their order.

#include <array>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/views/moves.h"

namespace attnrun::opt {
namespace {

bool IsPool(const Node& node) { return IsOp(&node, "GlobalAveragePool"); }

bool IsReduction(const Node& node) {
  static constexpr std::array<absl::string_view, 4> kOps = {"ReduceMean", "ReduceSum", "ReduceMax",
                                                            "ReduceMin"};
  return node.domain().empty() && absl::c_linear_search(kOps, node.op_type());
}

// Marks the axes of its input that the node reduces; nullopt where they are not known.
std::optional<std::vector<bool>> ReducedAxes(const Node& node, Facts& facts) {
  const int rank = facts.RankOf(node.input(0));
  if (rank < 1) return std::nullopt;
  std::vector<bool> reduced(rank, false);
  if (IsPool(node)) {
    for (int axis = 2; axis < rank; ++axis) reduced[axis] = true;
    return reduced;
  }
  const auto axes = KnownInts(node, "axes", 1, facts);
  if (!axes.has_value() || axes->empty()) return std::nullopt;
  for (const int64_t axis : *axes) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  return reduced;
}

// The axes of the base to reduce in place of those of the view; nullopt unless the view only
// reorders axes, or adds and removes axes of extent 1, and keeps the remaining axes in order.
std::optional<std::vector<int64_t>> ReducedOfBase(const View& base, const View& view,
                                                  const std::vector<bool>& reduced) {
  if (!(view.offset() == base.offset())) return std::nullopt;
  std::vector<int64_t> result;
  std::vector<bool> found(base.rank(), false);
  int last_kept = -1;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.axes()[axis].empty()) continue;
    int at = 0;
    while (at < base.rank() && (found[at] || base.axes()[at] != view.axes()[axis])) ++at;
    if (at == base.rank()) return std::nullopt;
    found[at] = true;
    if (reduced[axis]) {
      result.push_back(at);
    } else if (at < last_kept) {
      return std::nullopt;
    } else {
      last_kept = at;
    }
  }
  for (int axis = 0; axis < base.rank(); ++axis) {
    if (!found[axis] && !base.axes()[axis].empty()) return std::nullopt;
  }
  absl::c_sort(result);
  return result;
}

}  // namespace

bool ReduceBehindViews(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (!IsPool(*node) && !IsReduction(*node)) return false;
  const auto reduced = ReducedAxes(*node, facts);
  const std::vector<SymInt>* dims = facts.DimsOf(node->output(0));
  if (!reduced.has_value() || dims == nullptr) return false;
  const std::vector<SymInt> to = *dims;
  const std::vector<Traced> chain = Trace(node->input(0), facts);
  for (size_t i = chain.size(); i-- > 0;) {
    Value* const base = chain[i].base;
    // A ReduceMean, not a pooling, that reads x itself needs no rewrite.
    if (base == node->input(0) && !IsPool(*node)) return false;
    const std::vector<SymInt>* from = facts.DimsOf(base);
    const auto axes = ReducedOfBase(View::Dense(*from), chain[i].view, *reduced);
    if (!axes.has_value() || axes->empty()) continue;
    Value* result = patch.Op(IsPool(*node) ? "ReduceMean" : node->op_type(),
                             {base, patch.Ints(*axes)}, {{"keepdims", int64_t{0}}}, node->name());
    result = ReshapeTo(patch, facts, result, to);
    if (result == nullptr) return !patch.status().ok();
    patch.Supersede({node});
    patch.Replace(node->output(0), result);
    return true;
  }
  return false;
}

}  // namespace attnrun::opt
