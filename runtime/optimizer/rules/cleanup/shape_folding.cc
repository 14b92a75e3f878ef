// SPDX-License-Identifier: Apache-2.0

// Exporters compute the target of each Reshape from the shapes of inner values. Shape arithmetic
// whose result is the same in every run becomes an initializer, and the target of a Reshape becomes
// a constant, with -1 or 0 for an extent that differs from run to run:
//
//   x: [batch, seq, 768] -> Shape -> Gather(0) -> Unsqueeze -> Concat(batch, -1, 12, 64) -> Reshape
//   becomes Reshape(x, [0, -1, 12, 64])
//
// Extents that a computation still needs are read from the graph inputs.

#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/cleanup/extent_sources.h"

namespace attnrun::opt {
namespace {

// Folds a node whose output is a few integers or conditions that are the same in every run.
bool FoldKnown(RuleContext& context, Node* node, Patch& patch) {
  Value* value = node->output(0);
  if (value == nullptr || node->outputs().size() != 1) return false;
  if (context.graph.IsOutput(value)) return false;
  const ops::ValueFacts& facts = context.facts.Of(value);
  const bool whole = IsInteger(facts.type) || facts.type == DataType::kBool;
  if (!whole || !facts.dims.has_value()) return false;
  const auto ints = KnownInts(value, context.facts);
  if (!ints.has_value()) return false;
  const bool scalar = facts.dims->empty();
  // A node that fails, such as a Squeeze of no elements, has no value.
  if (scalar && ints->size() != 1) return false;
  Shape shape;
  if (!scalar) shape.push_back(static_cast<int64_t>(ints->size()));
  return patch.Substitute(node, patch.Constant(value->name(), FromInts(facts.type, shape, *ints)));
}

// Reads extents of graph inputs from these, whichever value the exporter used. All readers then
// share them, and no inner value is kept for its shape alone. Extents that windows or slices make
// of them are read from the first value that has them, not computed again.
bool ReadOffSources(RuleContext& context, const ExtentSources& extents, Node* node, Patch& patch) {
  constexpr size_t kMost = 8;
  Value* value = node->output(0);
  if (value == nullptr || node->outputs().size() != 1 || extents.IsReadBy(*node)) return false;
  const ops::ValueFacts& facts = context.facts.Of(value);
  if (facts.type != DataType::kInt64 || !facts.contents.has_value()) return false;
  if (!facts.dims.has_value() || facts.contents->empty() || facts.contents->size() > kMost) {
    return false;
  }
  if (!extents.HaveAll(*facts.contents, *node)) return false;
  const bool scalar = facts.dims->empty();
  Value* result = extents.ReadAll(patch, std::vector<SymInt>(*facts.contents));
  if (scalar) result = patch.Op("Squeeze", {result, patch.Ints({0})});
  return patch.Substitute(node, result);
}

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

// Drops the first of two Reshapes if it never fails: the second arranges all elements anew.
bool SkipReshape(RuleContext& context, Node* node, const Node* inner, Patch& patch) {
  const auto& target = context.facts.Of(node->input(1)).contents;
  const std::vector<SymInt>* from = context.facts.DimsOf(inner->input(0));
  const std::vector<SymInt>* to = context.facts.DimsOf(inner->output(0));
  if (from == nullptr || to == nullptr || Product(*from) != Product(*to)) return false;
  const bool copies = AttributeOr<int64_t>(*node, "allowzero", 0) != 1;
  if (copies && (!target.has_value() || !MeansTheSame(*target, *from, *to))) return false;
  return patch.Substitute(node, "Reshape", {inner->input(0), node->input(1)}, node->attributes());
}

// Folds two Reshapes of a slice: only both together show the extents in full.
bool JoinReshapes(RuleContext& context, const ExtentSources& extents, Node* node, const Node* inner,
                  Patch& patch) {
  const std::vector<SymInt>* to = context.facts.DimsOf(node->output(0));
  if (ProducerOf(inner->input(0), "Slice") == nullptr || to == nullptr || to->empty()) return false;
  if (!extents.HaveAll(*to, *node)) return false;
  Value* shape = extents.ReadAll(patch, std::vector<SymInt>(*to));
  return patch.Substitute(node, "Reshape", {inner->input(0), shape}, {{"allowzero", int64_t{1}}});
}

// Makes the target of a Reshape constant, or else drops a Reshape before it.
bool FoldReshape(RuleContext& context, const ExtentSources& extents, Node* node, Patch& patch) {
  if (!IsOp(node, "Reshape") || node->input(1) == nullptr) return false;
  const Node* inner = ProducerOf(node->input(0), "Reshape");
  if (node->input(1)->is_constant()) {
    return inner != nullptr && JoinReshapes(context, extents, node, inner, patch);
  }
  const std::vector<SymInt>* from = context.facts.DimsOf(node->input(0));
  const std::vector<SymInt>* to = context.facts.DimsOf(node->output(0));
  if (from == nullptr || to == nullptr) return false;
  // A slice may be shorter than its bounds say; the Reshape must then still fail.
  const bool sliced = ProducerOf(node->input(0), "Slice") != nullptr;
  if (sliced && Product(*from) != Product(*to)) return false;
  const auto target = ReshapeTarget(*from, *to);
  if (target.has_value()) {
    return patch.Substitute(node, "Reshape", {node->input(0), patch.Ints(*target)});
  }
  return inner != nullptr && SkipReshape(context, node, inner, patch);
}

absl::StatusOr<int> FoldShapes(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  const ExtentSources extents(context, order);
  return RewriteEachNode(context, order, [&](Node* node, Patch& patch) {
    return FoldKnown(context, node, patch) || ReadOffSources(context, extents, node, patch) ||
           FoldReshape(context, extents, node, patch);
  });
}

}  // namespace

extern const Rule kShapeFolding = {
    .name = "shape_folding",
    .summary = "Shape arithmetic becomes constants, or is read off the inputs' extents",
    .run = FoldShapes};

}  // namespace attnrun::opt
