#include "optimizer/fusions/softmax.h"

#include "optimizer/each_node.h"
#include "optimizer/fusions/reduction.h"
#include "optimizer/node_queries.h"
#include "optimizer/pattern.h"

namespace attnrun {
namespace {

// A reduction over one axis that stays; keeps the axis.
Pattern Reduction(const char* op_type, int64_t* axis, Pattern inner) {
  return Pattern([=](Value* value, Facts& facts, MatchedNodes& nodes) {
    Node* node = value->producer();
    const auto reduced = node == nullptr ? std::nullopt : ReducedAxis(*node, op_type, facts);
    if (!reduced.has_value()) return false;
    *axis = *reduced;
    nodes.push_back(node);
    return inner.Match(node->input(0), facts, nodes);
  });
}

// The axis, as ReducedAxis has it; nullopt where several axes count as one.
std::optional<int64_t> AxisOf(const Node& softmax, Facts& facts) {
  const int rank = facts.RankOf(softmax.input(0));
  const int64_t axis = AttributeOr<int64_t>(softmax, "axis", softmax.opset() < 13 ? 1 : -1);
  if (axis == -1 || axis == rank - 1) return -1;
  if (softmax.opset() < 13 || (axis < 0 && rank < 0)) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

// The operator subtracts the maximum itself; where it is infinite, both ways come to NaN.
bool ProposeUnshifted(PassContext& context, Node* softmax, Patch& patch) {
  Value* x = nullptr;
  int64_t max_axis = 0;
  MatchedNodes nodes;
  const Pattern shifted = Op("Sub", {Is(&x), Reduction("ReduceMax", &max_axis, Same(&x))});
  if (!shifted.Match(softmax->input(0), context.facts, nodes)) return false;
  if (AxisOf(*softmax, context.facts) != max_axis) return false;
  patch.Rewrite(softmax, {x}, {{"axis", max_axis}});
  return true;
}

bool Propose(PassContext& context, Node* node, Patch& patch) {
  if (!node->domain().empty()) return false;
  if (node->op_type() == "Softmax") return ProposeUnshifted(context, node, patch);
  if (node->op_type() != "Div" && node->op_type() != "Mul") return false;
  Value* exponential = nullptr;
  int64_t axis = 0;
  MatchedNodes nodes;
  const Pattern sum = Reduction("ReduceSum", &axis, Same(&exponential));
  const Pattern quotient = OneOf(
      {Op("Div", {Is(&exponential), sum}), Op("Mul", {Is(&exponential), Op("Reciprocal", {sum})})});
  if (!quotient.Match(node->output(0), context.facts, nodes)) return false;
  Value* x = nullptr;
  int64_t max_axis = 0;
  const Pattern shifted =
      Op("Exp", {Op("Sub", {Is(&x), Reduction("ReduceMax", &max_axis, Same(&x))})});
  if (!shifted.Match(exponential, context.facts, nodes)) {
    if (exponential->producer() != nullptr && exponential->producer()->op_type() == "Exp") {
      context.Miss(*node,
                   "the maximum is not subtracted before the exponential, which may overflow");
    }
    return false;
  }
  if (max_axis != axis) return false;
  patch.Supersede(nodes);
  if (!patch.Admits({node->output(0)}, node)) return false;
  patch.Replace(node->output(0), patch.Op("Softmax", {x}, {{"axis", axis}}, node->name()));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseSoftmax(PassContext& context) {
  return RewriteEachNode(context,
                         [&](Node* node, Patch& patch) { return Propose(context, node, patch); });
}

}  // namespace attnrun
