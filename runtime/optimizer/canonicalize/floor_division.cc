#include "optimizer/canonicalize/floor_division.h"

#include "optimizer/each_node.h"
#include "optimizer/node_queries.h"
#include "optimizer/pattern.h"

namespace attnrun {
namespace {

// Whether `condition` is b < 0.
bool IsNegative(Value* condition, Value* b, Facts& facts) {
  MatchedNodes nodes;
  if (Op("Less", {Same(&b), Number(0, 0)}).Match(condition, facts, nodes)) return true;
  const auto known = ScalarOf(condition);
  const auto divisor = ScalarOf(b);
  return known.has_value() && divisor.has_value() && (*known != 0) == (*divisor < 0);
}

}  // namespace

absl::StatusOr<int> FuseFloorDivision(PassContext& context) {
  Facts& facts = context.facts;
  Value* a = nullptr;
  Value* b = nullptr;
  Value* sign = nullptr;
  Value* quotient = nullptr;
  Node* mod = nullptr;
  const Pattern zero = Number(0, 0);
  const Pattern signs_differ = Op("Xor", {Op("Less", {Is(&a), zero}), Is(&sign)});
  const Pattern remainder = Op("Not", {Op("Equal", {Op("Mod", {Same(&a), Is(&b)}, &mod), zero})});
  const Pattern truncated = Keep(&quotient, Op("Div", {Same(&a), Same(&b)}));
  const Pattern floored = Op("Where", {Op("And", {signs_differ, remainder}),
                                       Op("Sub", {truncated, Number(1, 0)}), Same(&quotient)});
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    MatchedNodes nodes;
    if (!IsOp(node, "Where") || !floored.Match(node->output(0), facts, nodes)) return false;
    if (!IsInteger(facts.TypeOf(a)) || !IsNegative(sign, b, facts)) return false;
    if (AttributeOr<int64_t>(*mod, "fmod", 0) != 0) return false;
    // Constants of one element may have more axes than a and b.
    const int rank = facts.RankOf(node->output(0));
    if (rank < 0 || rank != facts.RankOf(quotient)) return false;
    patch.Supersede({node});
    patch.Replace(node->output(0), patch.Op("attnrun::FloorDiv", {a, b}, {}, node->name()));
    return true;
  });
}

}  // namespace attnrun
