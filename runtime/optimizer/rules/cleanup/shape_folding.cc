// SPDX-License-Identifier: Apache-2.0

// Exporters compute the target of each Reshape from the shapes of inner values. Shape arithmetic
// whose result is the same in every run becomes an initializer, and the target of a Reshape becomes
// a constant, with -1 or 0 for an extent that differs from run to run:
//
//   x: [batch, seq, 768] -> Shape -> Gather(0) -> Unsqueeze -> Concat(batch, -1, 12, 64) -> Reshape
//   becomes Reshape(x, [0, -1, 12, 64])
//
// Extents that a computation still needs are read from the graph inputs.

#include <algorithm>

#include "core/elements.h"
#include "core/status.h"
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

// An operand with the extents of a node's output; for a product, all of them except the last.
Value* OperandOfSameExtents(const Node& node, Facts& facts) {
  const std::vector<SymInt>* of_output = facts.DimsOf(node.output(0));
  if (of_output == nullptr || of_output->empty()) return nullptr;
  std::vector<SymInt> dims = *of_output;
  const bool product = IsOp(&node, "MatMul");
  const bool elementwise = IsOp(&node, "Add") || IsOp(&node, "Sub") || IsOp(&node, "Mul") ||
                           IsOp(&node, "Div") || IsOp(&node, "Where") || IsOp(&node, "Softmax");
  if (!product && !elementwise) return nullptr;
  if (product) dims.pop_back();
  for (Value* operand : node.inputs()) {
    const std::vector<SymInt>* from = operand == nullptr ? nullptr : facts.DimsOf(operand);
    if (from == nullptr || from->size() != of_output->size() || operand->is_constant()) continue;
    if (std::equal(dims.begin(), dims.end(), from->begin())) return operand;
    if (product) break;
  }
  return nullptr;
}

// mask.expand_as(scores) needs the extents of the scores. These are read from the operands of the
// scores, so that the scores need not exist.
absl::StatusOr<int> ReadOffOperands(RuleContext& context, Node* node) {
  if (!IsOp(node, "Shape") || node->output(0) == nullptr || !node->attributes().empty()) return 0;
  const Node* scores = node->input(0)->producer();
  Value* operand = scores == nullptr ? nullptr : OperandOfSameExtents(*scores, context.facts);
  if (operand == nullptr) return 0;
  Patch patch(context);
  patch.Supersede({node});
  Value* extents = nullptr;
  if (IsOp(scores, "MatMul")) {
    const int64_t rank = context.facts.RankOf(operand);
    if (context.facts.RankOf(scores->input(1)) != rank) return 0;
    const auto part = [&](Value* value, int64_t start, int64_t end) {
      return patch.Op("Shape", {value}, {{"start", start}, {"end", end}});
    };
    extents =
        patch.Op("Concat", {part(operand, 0, rank - 1), part(scores->input(1), rank - 1, rank)},
                 {{"axis", int64_t{0}}});
  } else {
    extents = patch.Op("Shape", {operand});
  }
  patch.Replace(node->output(0), extents);
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
