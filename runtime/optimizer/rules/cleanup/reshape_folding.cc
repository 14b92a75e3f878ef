// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/cleanup/reshape_folding.h"

#include <algorithm>
#include <vector>

#include "core/status.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {
namespace {

// True if a Reshape's target has the same meaning for tensors of extents `a` and `b`. A 0 in it
// copies an extent.
bool MeansTheSame(const std::vector<SymInt>& target, const std::vector<SymInt>& a,
                  const std::vector<SymInt>& b) {
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i].constant().value_or(0) != 0) continue;
    if (i >= a.size() || i >= b.size()) return false;
    // In a run where the target is 0, so is every multiple of it.
    const bool both = SymInt::DivideExactly(a[i], target[i]).has_value() &&
                      SymInt::DivideExactly(b[i], target[i]).has_value();
    if (a[i] != b[i] && !both) return false;
  }
  return true;
}

// Drops the first of two Reshapes if it never fails: the second arranges all elements anew. `node`
// is a Reshape with a target.
absl::StatusOr<int> SkipReshape(RuleContext& context, Node* node) {
  const Node* inner = node->input(0)->producer();
  const auto& target = context.facts.Of(node->input(1)).contents;
  if (!IsOp(inner, "Reshape")) return 0;
  const std::vector<SymInt>* from = context.facts.DimsOf(inner->input(0));
  const std::vector<SymInt>* to = context.facts.DimsOf(inner->output(0));
  if (from == nullptr || to == nullptr || Product(*from) != Product(*to)) return 0;
  const bool copies = AttributeOr<int64_t>(*node, "allowzero", 0) != 1;
  if (copies && (!target.has_value() || !MeansTheSame(*target, *from, *to))) return 0;
  Patch patch(context);
  patch.Supersede({node});
  patch.Replace(node->output(0), patch.Op("Reshape", {inner->input(0), node->input(1)},
                                          node->attributes(), node->name()));
  return patch.Apply();
}

// Folds two Reshapes of a slice: only both together show the extents in full.
absl::StatusOr<int> FoldReshapes(RuleContext& context, const ExtentSources& extents, Node* node) {
  const Node* inner = node->input(0)->producer();
  if (!IsOp(inner, "Reshape") || !IsOp(inner->input(0)->producer(), "Slice")) return 0;
  const std::vector<SymInt>* to = context.facts.DimsOf(node->output(0));
  if (to == nullptr || to->empty()) return 0;
  const std::vector<SymInt> dims = *to;
  if (!std::all_of(dims.begin(), dims.end(),
                   [&](const SymInt& dim) { return extents.Has(dim, *node); })) {
    return 0;
  }
  Patch patch(context);
  patch.Supersede({node});
  std::vector<Value*> parts;
  parts.reserve(dims.size());
  for (const SymInt& dim : dims) parts.push_back(extents.Read(patch, dim));
  Value* shape = patch.Op("Concat", parts, {{"axis", int64_t{0}}});
  patch.Replace(node->output(0), patch.Op("Reshape", {inner->input(0), shape},
                                          {{"allowzero", int64_t{1}}}, node->name()));
  return patch.Apply();
}

}  // namespace

absl::StatusOr<int> FoldReshape(RuleContext& context, const ExtentSources& extents, Node* node) {
  Value* shape = node->input(1);
  if (!IsOp(node, "Reshape") || shape == nullptr) return 0;
  if (shape->is_constant()) return FoldReshapes(context, extents, node);
  const std::vector<SymInt>* from = context.facts.DimsOf(node->input(0));
  const std::vector<SymInt>* to = context.facts.DimsOf(node->output(0));
  if (from == nullptr || to == nullptr) return 0;
  // A slice may be shorter than its bounds say; the Reshape must then still fail.
  const bool sliced = IsOp(node->input(0)->producer(), "Slice");
  if (sliced && Product(*from) != Product(*to)) return 0;
  const auto target = ReshapeTarget(*from, *to);
  if (!target.has_value()) return SkipReshape(context, node);
  Patch patch(context);
  patch.Supersede({node});
  patch.Replace(node->output(0),
                patch.Op("Reshape", {node->input(0), patch.Ints(*target)}, {}, node->name()));
  return patch.Apply();
}

}  // namespace attnrun::opt
