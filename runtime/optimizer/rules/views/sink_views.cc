// SPDX-License-Identifier: Apache-2.0

// An operator that works on each row (the last axis) alone changes places with a Reshape or
// Transpose of the axes before. It then stands beside other operators of the same input, with which
// it may merge, and the view may meet one that undoes it:
//
//   x [B,S,D]                            x [B,S,D]
//       |                                    |
//   Transpose(1,0,2)                      Linear
//       |                      ->            |
//    Linear                              Transpose(1,0,2)
//       |                                    |
//   y [S,B,N]                            y [S,B,N]
//
// The rule also covers DynamicQuantizeLinear, whose one scale does not depend on the order of
// elements, and a sum of two values whose rows are arranged alike.

#include <algorithm>
#include <array>
#include <numeric>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// True if the node computes each row of its first input alone, whatever axes stand before.
bool IsRowWise(const Node& node, Facts& facts) {
  if (node.domain() == "attnrun") return IsLinear(node) && node.input(3) == nullptr;
  if (!node.domain().empty()) return false;
  static constexpr std::array<absl::string_view, 7> kUnary = {"Relu", "Gelu",     "Tanh", "Sigmoid",
                                                              "Erf",  "Softplus", "Cast"};
  if (absl::c_linear_search(kUnary, node.op_type())) return true;
  if (node.op_type() != "LayerNormalization" && node.op_type() != "RMSNormalization") return false;
  // The optional statistics have other extents.
  if (node.output(1) != nullptr || node.output(2) != nullptr) return false;
  const int rank = facts.RankOf(node.input(0));
  const int64_t axis = AttributeOr<int64_t>(node, "axis", -1);
  return axis == -1 || (rank > 0 && axis == rank - 1);
}

// The view node that computes `result`, which other nodes read, if it only rearranges whole rows;
// else null.
Node* RowArrangement(Value* result, Facts& facts) {
  Node* view = result == nullptr ? nullptr : result->producer();
  if (view == nullptr || !view->domain().empty()) return nullptr;
  if (view->op_type() != "Reshape" && view->op_type() != "Transpose") return nullptr;
  // View ignores axes of extent 1, but a row-wise node may make the last one longer.
  if (view->op_type() == "Transpose" && !KeepsLastAxis(*view)) return nullptr;
  const std::vector<Traced> chain = Trace(result, facts);
  if (chain.size() < 2 || chain[1].base != view->input(0)) return nullptr;
  const std::vector<SymInt>& dims = *facts.DimsOf(view->input(0));
  const View& after = chain[1].view;
  if (dims.empty() || after.rank() == 0) return nullptr;
  const View before = View::Dense(dims);
  return before.axes().back() == after.axes().back() &&
                 dims.back() == after.Extent(after.rank() - 1)
             ? view
             : nullptr;
}

// Writes the node's operator on other rows.
Value* OnRows(const Node& node, Value* rows, Patch& patch) {
  std::vector<Value*> inputs = node.inputs();
  inputs[0] = rows;
  AttributeMap attributes = node.attributes();
  if (attributes.contains("axis")) attributes.insert_or_assign("axis", int64_t{-1});
  return patch.Op(OpNameOf(node), inputs, attributes, node.name());
}

bool SinkAt(Facts& facts, Node* node, Patch& patch) {
  if (!IsRowWise(*node, facts)) return false;
  Node* view = RowArrangement(node->input(0), facts);
  const std::vector<SymInt>* dims = view == nullptr ? nullptr : facts.DimsOf(node->output(0));
  if (dims == nullptr) return false;
  const std::vector<SymInt> to = *dims;
  patch.Supersede({node});
  Value* rows = OnRows(*node, view->input(0), patch);
  // Apply returns the error.
  if (!patch.status().ok()) return true;
  Value* result = view->op_type() == "Transpose"
                      ? patch.Op("Transpose", {rows}, view->attributes(), view->name())
                      : ReshapeTo(patch, facts, rows, to);
  if (result == nullptr) return !patch.status().ok();
  patch.Replace(node->output(0), result);
  return true;
}

// A node that quantizes all elements by one scale does not depend on their arrangement at all.
bool SinkBehindQuantization(Node* node, Patch& patch) {
  if (!IsOp(node, "DynamicQuantizeLinear")) return false;
  const Node* view = node->input(0)->producer();
  if (!IsOp(view, "Reshape") && !IsOp(view, "Transpose")) return false;
  patch.Supersede({node});
  const std::vector<Value*> outputs =
      patch.Ops(node->op_type(), 3, {view->input(0)}, node->attributes(), node->name());
  if (!patch.status().ok()) return true;
  std::vector<Value*> inputs = view->inputs();
  inputs[0] = outputs[0];
  patch.Replace(node->output(0),
                patch.Op(view->op_type(), inputs, view->attributes(), view->name()));
  for (const int i : {1, 2}) {
    if (node->output(i) != nullptr) patch.Replace(node->output(i), outputs[i]);
  }
  return true;
}

// Whole rows of a base; `order` is the new order of its axes.
struct OrderedRows {
  Value* base;
  std::vector<int64_t> order;
};

// The value as whole rows of the base of `traced`, even if nodes on the way cut rows and joined
// them again; nullopt if its rows are not whole.
std::optional<OrderedRows> RowsOf(const Traced& traced, Facts& facts) {
  constexpr int kMaxRank = 4;
  const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
  const View base = View::Dense(dims);
  const std::vector<SymInt> to = traced.view.Dims();
  if (dims.size() < 2 || dims.size() > kMaxRank || to.empty() || to.back() != dims.back()) {
    return std::nullopt;
  }
  // View ignores axes of extent 1, but a row-wise node may make the last one longer.
  if (dims.back().is_constant(1)) return std::nullopt;
  OrderedRows rows = {traced.base, std::vector<int64_t>(dims.size())};
  std::iota(rows.order.begin(), rows.order.end(), 0);
  do {
    if (base.Transposed(rows.order).Reshaped(to) == traced.view) return rows;
  } while (std::next_permutation(rows.order.begin(), rows.order.end() - 1));
  return std::nullopt;
}

// Covers heads that were folded into the batch and become rows again in two or more nodes.
bool SinkChainAt(Facts& facts, Node* node, Patch& patch) {
  constexpr size_t kShortest = 3;
  if (!IsRowWise(*node, facts)) return false;
  const std::vector<Traced> chain = Trace(node->input(0), facts);
  for (size_t i = chain.size(); i-- > kShortest;) {
    const auto rows = RowsOf(chain[i], facts);
    const std::vector<SymInt>* dims = facts.DimsOf(node->output(0));
    if (!rows.has_value() || dims == nullptr) continue;
    const std::vector<SymInt> to = *dims;
    patch.Supersede({node});
    Value* result = OnRows(*node, rows->base, patch);
    if (!absl::c_is_sorted(rows->order)) {
      result = patch.Op("Transpose", {result}, {{"perm", rows->order}});
    }
    if (patch.status().ok()) result = ReshapeTo(patch, facts, result, to);
    if (result == nullptr) return !patch.status().ok();
    patch.Replace(node->output(0), result);
    return true;
  }
  return false;
}

// Covers a sum that is the only reader of two values whose rows are arranged alike.
bool SinkSumAt(Facts& facts, Node* sum, Patch& patch) {
  if (!IsOp(sum, "Add")) return false;
  std::vector<Value*> rows;
  for (Value* term : sum->inputs()) {
    const Node* view = RowArrangement(term, facts);
    if (!IsOp(view, "Reshape") || term->consumers().size() != 1) return false;
    rows.push_back(view->input(0));
  }
  const std::vector<SymInt> to = *facts.DimsOf(sum->input(0));
  if (*facts.DimsOf(sum->input(1)) != to || *facts.DimsOf(rows[0]) != *facts.DimsOf(rows[1])) {
    return false;
  }
  patch.Supersede({sum});
  Value* result = patch.Op("Add", rows, {}, sum->name());
  if (patch.status().ok()) result = ReshapeTo(patch, facts, result, to);
  if (result == nullptr) return !patch.status().ok();
  patch.Replace(sum->output(0), result);
  return true;
}

bool SinkViews(RuleContext& context, Node* node, Patch& patch) {
  return SinkBehindQuantization(node, patch) || SinkAt(context.facts, node, patch) ||
         SinkSumAt(context.facts, node, patch) || SinkChainAt(context.facts, node, patch);
}

}  // namespace

extern const Rule kSinkViews = {
    .name = "sink_views",
    .summary = "A row-wise operator moves above a Reshape or Transpose of rows",
    .anchors = {"attnrun.Linear", "Relu", "Gelu", "Tanh", "Sigmoid", "Erf", "Softplus", "Cast",
                "LayerNormalization", "RMSNormalization", "DynamicQuantizeLinear", "Add"},
    .propose = SinkViews};

}  // namespace attnrun::opt
