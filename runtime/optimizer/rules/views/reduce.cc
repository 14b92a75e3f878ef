// SPDX-License-Identifier: Apache-2.0

// A sum, mean or maximum does not depend on the order of elements, so a reduction reads its input
// before a Transpose or Reshape. Models of images write a mean as a pooling, which becomes a
// ReduceMean:
//
//   x [B, S, D] -> Transpose [B, D, S] -> GlobalAveragePool [B, D, 1] -> Reshape [B, D]
//   -->
//   ReduceMean(x, axis 1) [B, D]
//
// Covers reductions whose axes are axes of x, or have extent 1, if the others stay in their order.

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/views/moves.h"

namespace attnrun::opt {
namespace {

// The axes longer than 1.
std::vector<ViewAxis> Long(std::vector<ViewAxis> axes) {
  std::erase_if(axes, [](const ViewAxis& axis) { return axis.empty(); });
  return axes;
}

// The axes of the base to reduce in place of those of the view; nullopt unless the view has all of
// them, and the other axes in their order.
std::optional<std::vector<int64_t>> ReducedOfBase(const View& base, const View& view,
                                                  const std::vector<bool>& reduced) {
  std::vector<int64_t> axes;
  std::vector<ViewAxis> of_base = base.axes();
  std::vector<ViewAxis> of_view = view.axes();
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (!reduced[axis] || of_view[axis].empty()) continue;
    const auto at = absl::c_find(of_base, of_view[axis]) - of_base.begin();
    if (at == base.rank()) return std::nullopt;
    of_view[axis].clear();
    of_base[at].clear();
    axes.push_back(at);
  }
  if (!(base.offset() == view.offset()) || Long(of_base) != Long(of_view)) return std::nullopt;
  absl::c_sort(axes);
  return axes;
}

// A global pooling is a mean over all axes but the first two.
bool WritePoolAsMean(RuleContext& context, Node* pool, Patch& patch) {
  std::vector<int64_t> axes(std::max(context.facts.RankOf(pool->input(0)) - 2, 0));
  if (axes.empty()) return false;
  absl::c_iota(axes, 2);
  return patch.Substitute(
      pool, patch.Op("ReduceMean", {pool->input(0), patch.Ints(axes)}, {}, pool->name()));
}

}  // namespace

bool ReduceBehindViews(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (!ops::TraitsOf(*node).reduces) return false;
  const auto reduced = ReducedAxes(*node, facts);
  const std::vector<SymInt>* dims = facts.DimsOf(node->output(0));
  if (!reduced.has_value() || dims == nullptr) return false;
  const std::vector<SymInt> to = *dims;
  const std::vector<Traced> chain = Trace(node->input(0), facts);
  for (size_t i = chain.size(); i-- > 1;) {
    const View base = View::Dense(*facts.DimsOf(chain[i].base));
    const auto axes = ReducedOfBase(base, chain[i].view, *reduced);
    if (!axes.has_value() || axes->empty()) continue;
    Value* result = patch.Op(node->op_type(), {chain[i].base, patch.Ints(*axes)},
                             {{"keepdims", int64_t{0}}}, node->name());
    if (result == nullptr) return false;
    if (ViewsAbove(*result->producer()) >= ViewsAbove(*node)) return false;
    // A view with other readers stays; it would get company.
    const std::vector<SymInt>* now = facts.DimsOf(result);
    if (now == nullptr || (node->input(0)->consumers().size() > 1 && *now != to)) return false;
    return patch.Substitute(node, ReshapeTo(patch, result, to));
  }
  return false;
}

extern const Rule kPooledMeans = {.name = "move_views",
                                  .summary = "A global pooling becomes a mean",
                                  .anchors = {"GlobalAveragePool"},
                                  .propose = WritePoolAsMean};

}  // namespace attnrun::opt
