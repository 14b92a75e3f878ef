// SPDX-License-Identifier: Apache-2.0

// A classifier reads the first token alone, a decoder's logits the last one, but exporters compute
// all rows and then select. A Gather or Slice of few positions moves up through nodes that work row
// by row, as long as no other node reads the other rows:
//
//    x [B,S,D] ____________                 x [B,S,D] _______________
//    |        |            \                |        |      |        \  .
//    |     Linear(q)   Linear(k), (v)       |      Gather   Gather   Linear(k), (v)
//    |        \          /  /               |        |      |          /  /
//    |        Attention ___/                |     Linear(q) |         /  /
//    |            |                   ->    |         \     |        /  /
//    \          Linear                      |          Attention ___/__/     one query
//     \          /                          |              |
//        Add [B,S,D]                        |            Linear
//         |                                 \             /
//    norm, Linear, Gelu, ...                 Add [B,1,D]
//         |                                   |
//    Gather(axis=1, 0)                       norm, Linear, Gelu, ...
//         |                                   |
//       y [B,D]                              Squeeze
//                                             |
//                                            y [B,D]
//
// Keys and values stay whole. The remaining queries of a causal attention keep their positions;
// biases, masks and rotary angles of the queries are selected in the same way.

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/rows/row_operands.h"

namespace attnrun::opt {
namespace {

// True if computing fewer rows of the node is worth the selections that remain; cheap operators
// alone are not.
bool IsWorthIt(const Node& node) {
  const ops::OpTraits& traits = ops::TraitsOf(node);
  return !traits.elementwise && !traits.moves_elements && !traits.assembles;
}

// Starts from a node that selects rows, and others that select the same rows of the same value.
// Walks up from them, collects the nodes of which only these rows are needed, and rebuilds those
// nodes on the selected rows.
class NeededRows {
 public:
  NeededRows(RuleContext& context, const Selection& selection)
      : context_(context), facts_(context.facts), selection_(selection) {
    for (Node* reader : selection.source()->consumers()) {
      const auto other = Selection::Of(reader, facts_);
      const bool known =
          absl::c_any_of(same_, [&](const Selection& same) { return same.node() == reader; });
      if (other.has_value() && !known && reader != selection.node() && selection.Covers(*other)) {
        same_.push_back(*other);
      }
    }
  }

  // Fills `patch` and returns true if there is anything to gain.
  bool Propose(Patch& patch) {
    Need(selection_.source(), selection_.axis());
    for (const Selection& same : same_) Need(same.source(), same.axis());
    while (!open_.empty()) {
      Node* node = open_.back();
      open_.pop_back();
      Visit(node);
    }
    std::erase_if(nodes_, [&](const Node* node) { return IsOneSliceOfMany(*node); });
    const auto worth_it = [](const Node* node) { return IsWorthIt(*node); };
    if (absl::c_none_of(nodes_, worth_it)) {
      ReportOtherReaders();
      return false;
    }
    return Build(patch);
  }

 private:
  // The axis along which readers need only the selected positions of a value, and the number of
  // those readers.
  struct Needed {
    int axis = 0;
    size_t reads = 0;
    bool axes_differ = false;
  };

  void Need(Value* value, int axis) {
    Needed& needed = needed_.try_emplace(value, Needed{axis}).first->second;
    needed.axes_differ = needed.axes_differ || needed.axis != axis;
    ++needed.reads;
    // The producer is visited again each time one more reader needs only these positions.
    if (value->producer() != nullptr) open_.push_back(value->producer());
  }

  // True if no reader needs more of the value than the selected positions.
  bool IsAllThatIsNeeded(const Value* value) const {
    const auto found = needed_.find(value);
    const size_t reads = found == needed_.end() ? 0 : found->second.reads;
    return !context_.graph.IsOutput(value) && reads == value->consumers().size();
  }

  // The axis along which only the selected positions of all outputs are needed; nullopt if there is
  // none.
  std::optional<int> NeededAxis(const Node& node) const {
    std::optional<int> axis;
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      if (!IsAllThatIsNeeded(output)) return std::nullopt;
      const auto found = needed_.find(output);
      if (found == needed_.end()) continue;
      const Needed& needed = found->second;
      if (needed.axes_differ || axis.value_or(needed.axis) != needed.axis) return std::nullopt;
      axis = needed.axis;
    }
    return axis;
  }

  void Visit(Node* node) {
    const auto axis = NeededAxis(*node);
    if (!axis.has_value() || rows_.contains(node)) return;
    auto rows = RowOperandsOf(*node, *axis, selection_.place(), facts_);
    const auto fits = [&](const OperandAxis& operand) { return selection_.Fits(operand); };
    if (!rows.has_value() || !absl::c_all_of(rows->operands, fits)) return;
    nodes_.push_back(node);
    for (const OperandAxis& operand : rows->operands) {
      Need(node->input(operand.input), operand.axis);
    }
    rows_[node] = *std::move(rows);
  }

  // True if the node is a Slice of a value that others read in full. Slicing earlier then saves
  // nothing, and the Slice stays beside theirs, so that one Split can replace them.
  bool IsOneSliceOfMany(const Node& node) const {
    if (!IsOp(&node, "Slice")) return false;
    const Value* sliced = node.input(0);
    return needed_.at(sliced).reads == 1 && sliced->consumers().size() > 1;
  }

  void ReportOtherReaders() {
    const Value* source = selection_.source();
    const Node* producer = source->producer();
    if (producer == nullptr || !IsWorthIt(*producer) || IsAllThatIsNeeded(source)) return;
    const bool is_output = context_.graph.IsOutput(source);
    context_.Miss(*selection_.node(),
                  absl::StrCat("all rows of ", Quoted(source->name()), " are computed: it is ",
                               is_output ? "a graph output" : "read elsewhere, too"));
  }

  // The selected positions of the value.
  Value* Selected(Patch& patch, Value* value, int axis) {
    Value*& selected = selected_[{value, axis}];
    if (selected == nullptr) selected = selection_.Select(patch, value, axis);
    return selected;
  }

  bool Rebuild(Patch& patch, Node* node) {
    const RowOperands& rows = rows_.at(node);
    std::vector<Value*> inputs = node->inputs();
    for (const OperandAxis& operand : rows.operands) {
      inputs[operand.input] = Selected(patch, node->input(operand.input), operand.axis);
    }
    const std::vector<Value*> outputs =
        AtSelectedRows(patch, facts_, *node, rows, inputs, context_.graph.inputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr && node->output(i) != nullptr) return false;
      selected_[{node->output(i), rows.axis}] = outputs[i];
    }
    return true;
  }

  bool Build(Patch& patch) {
    patch.Supersede({selection_.node()});
    patch.Supersede(nodes_);
    // The walk met readers first; rebuilding needs producers first.
    absl::c_reverse(nodes_);
    for (Node* node : nodes_) {
      if (!Rebuild(patch, node)) return false;
    }
    ReplaceBySelected(patch, selection_);
    for (const Selection& same : same_) {
      patch.Supersede({same.node()});
      ReplaceBySelected(patch, same);
    }
    return true;
  }

  void ReplaceBySelected(Patch& patch, const Selection& selection) {
    Value* rows = selected_.at({selection.source(), selection.axis()});
    if (selection.drops_axis()) {
      rows = patch.Op("Squeeze", {rows, patch.Ints({selection.axis()})});
    }
    patch.Replace(selection.node()->output(0), rows);
  }

  RuleContext& context_;
  Facts& facts_;
  const Selection selection_;
  // Other nodes that select the same rows.
  std::vector<Selection> same_;
  HashMap<const Value*, Needed> needed_;
  std::vector<Node*> open_;
  // The nodes of which only the selected positions are needed, each after all its readers.
  std::vector<Node*> nodes_;
  HashMap<const Node*, RowOperands> rows_;
  HashMap<std::pair<const Value*, int>, Value*> selected_;
};

bool SelectNeededRows(RuleContext& context, Node* node, Patch& patch) {
  const auto selection = Selection::Of(node, context.facts);
  return selection.has_value() && NeededRows(context, *selection).Propose(patch);
}

}  // namespace

extern const Rule kNeededRows = {.name = "needed_rows",
                                 .summary = "Rows that nobody reads are not computed",
                                 .anchors = {"Gather", "Slice", "GatherND"},
                                 .propose = SelectNeededRows};

}  // namespace attnrun::opt
