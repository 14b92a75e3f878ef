// SPDX-License-Identifier: Apache-2.0

// Exporters compute the target of each Reshape from the shapes of inner values. Shape arithmetic
// whose result is the same in every run becomes an initializer, and the target of a Reshape becomes
// a constant, with -1 or 0 for an extent that differs from run to run:
//
//   x: [batch, seq, 768] -> Shape -> Gather(0) -> Unsqueeze -> Concat(batch, -1, 12, 64) -> Reshape
//   becomes Reshape(x, [0, -1, 12, 64])
//
// Extents that a computation still needs are read from the graph inputs.

#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/cleanup/extent_sources.h"
#include "optimizer/rules/cleanup/reshape_folding.h"

namespace attnrun::opt {
namespace {

// Folds a node whose output is a few integers or conditions that are the same in every run.
absl::StatusOr<int> FoldKnown(RuleContext& context, Node* node) {
  Value* value = node->output(0);
  if (value == nullptr || node->outputs().size() != 1) return 0;
  if (context.graph.IsOutput(value)) return 0;
  const ops::ValueFacts& facts = context.facts.Of(value);
  const bool whole = IsInteger(facts.type) || facts.type == DataType::kBool;
  if (!whole || !facts.dims.has_value()) return 0;
  const auto ints = KnownInts(value, context.facts);
  if (!ints.has_value()) return 0;
  Shape shape;
  if (!facts.dims->empty()) shape.push_back(static_cast<int64_t>(ints->size()));
  Patch patch(context);
  patch.Supersede({node});
  patch.Replace(value, patch.Constant(value->name(), FromInts(facts.type, shape, *ints)));
  return patch.Apply();
}

// Reads extents of graph inputs from these, whichever value the exporter used. All readers then
// share them, and no inner value is kept for its shape alone. Extents that windows or slices make
// of them are read from the first value that has them, not computed again.
absl::StatusOr<int> ReadOffSources(RuleContext& context, const ExtentSources& extents, Node* node) {
  constexpr size_t kMost = 8;
  Value* value = node->output(0);
  if (value == nullptr || node->outputs().size() != 1 || extents.IsReadBy(*node)) return 0;
  const ops::ValueFacts& facts = context.facts.Of(value);
  if (facts.type != DataType::kInt64 || !facts.contents.has_value()) return 0;
  const std::vector<SymInt> contents = *facts.contents;
  const bool scalar = facts.dims.has_value() && facts.dims->empty();
  if (!facts.dims.has_value() || contents.empty() || contents.size() > kMost) return 0;
  for (const SymInt& element : contents) {
    if (!extents.Has(element, *node)) return 0;
  }
  Patch patch(context);
  patch.Supersede({node});
  std::vector<Value*> parts;
  parts.reserve(contents.size());
  for (const SymInt& element : contents) parts.push_back(extents.Read(patch, element));
  Value* result = parts.size() == 1 ? parts[0] : patch.Op("Concat", parts, {{"axis", int64_t{0}}});
  if (scalar) result = patch.Op("Squeeze", {result, patch.Ints({0})});
  patch.Replace(value, result);
  return patch.Apply();
}

// Axes [start, end) of an operand.
struct AxesOfOperand {
  Value* operand = nullptr;
  int64_t start = 0;
  int64_t end = 0;
};

// Adds the axis of an operand that has this extent, if possible the one after the last axis.
bool AddAxis(const Node& node, const SymInt& extent, Facts& facts,
             std::vector<AxesOfOperand>& parts) {
  if (!parts.empty()) {
    AxesOfOperand& last = parts.back();
    const std::vector<SymInt>& dims = *facts.DimsOf(last.operand);
    if (last.end < std::ssize(dims) && dims[last.end] == extent) return ++last.end > 0;
  }
  for (Value* operand : node.inputs()) {
    const std::vector<SymInt>* dims = operand == nullptr ? nullptr : facts.DimsOf(operand);
    if (dims == nullptr || operand->is_constant()) continue;
    const int64_t axis = absl::c_find(*dims, extent) - dims->begin();
    if (axis == std::ssize(*dims)) continue;
    parts.push_back({operand, axis, axis + 1});
    return true;
  }
  return false;
}

// mask.expand_as(scores) needs the extents of the scores. These are read from the operands of the
// scores, so that the scores need not exist.
absl::StatusOr<int> ReadOffOperands(RuleContext& context, Node* node) {
  if (!IsOp(node, "Shape") || node->output(0) == nullptr || !node->attributes().empty()) return 0;
  const Node* scores = node->input(0)->producer();
  const std::vector<SymInt>* dims = context.facts.DimsOf(node->input(0));
  if (scores == nullptr || ops::TraitsOf(*scores).moves_elements || dims == nullptr) return 0;
  std::vector<AxesOfOperand> parts;
  for (const SymInt& extent : std::vector<SymInt>(*dims)) {
    if (!AddAxis(*scores, extent, context.facts, parts)) return 0;
  }
  if (parts.empty()) return 0;
  Patch patch(context);
  patch.Supersede({node});
  std::vector<Value*> extents;
  for (const auto& [operand, start, end] : parts) {
    AttributeMap range = {{"start", start}, {"end", end}};
    if (end - start == context.facts.RankOf(operand)) range.clear();
    extents.push_back(patch.Op("Shape", {operand}, range));
  }
  Value* all = extents[0];
  if (parts.size() > 1) all = patch.Op("Concat", extents, {{"axis", int64_t{0}}});
  patch.Replace(node->output(0), all);
  return patch.Apply();
}

absl::StatusOr<int> FoldShapes(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  const ExtentSources extents(context, order);
  int folded = 0;
  for (Node* node : order) {
    ATTNRUN_ASSIGN_OR_RETURN(int applied, FoldKnown(context, node));
    if (applied == 0) {
      ATTNRUN_ASSIGN_OR_RETURN(applied, ReadOffSources(context, extents, node));
    }
    if (applied == 0) {
      ATTNRUN_ASSIGN_OR_RETURN(applied, ReadOffOperands(context, node));
    }
    if (applied == 0) {
      ATTNRUN_ASSIGN_OR_RETURN(applied, FoldReshape(context, extents, node));
    }
    folded += applied;
  }
  return folded;
}

}  // namespace

extern const Rule kShapeFolding = {
    .name = "shape_folding",
    .summary = "Shape arithmetic becomes constants, or is read off the inputs' extents",
    .run = FoldShapes};

}  // namespace attnrun::opt
