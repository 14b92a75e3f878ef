// SPDX-License-Identifier: Apache-2.0

// Recognizes the integer division that rounds down (Python's //), for which ONNX has no operator.
// Exporters write it as the truncated quotient, minus one where the signs differ and there is a
// remainder. With q = Div(a, b), the exporters of TorchScript and dynamo write:
//
//   Where(And(Xor(Less(a, 0), Less(b, 0)), Not(Equal(Mod(a, b), 0))), Sub(q, 1), q)
//   Sub(q, Cast(And(Equal(Less(a, 0), GreaterOrEqual(b, 0)), Cast(Mod(a, b), bool))))
//     ->  attnrun.FloorDiv(a, b)
//
// For a whole number b > 0, dynamo also writes:
//
//   Cast(Floor(Div(Cast(a, float), b)), int)  ->  attnrun.FloorDiv(a, b)

#include <cmath>
#include <vector>

#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// True if `condition` is b < 0, or b >= 0 if not `negative`.
bool IsSign(Value* condition, Value* b, bool negative, Facts& facts) {
  MatchedNodes nodes;
  const char* op = negative ? "Less" : "GreaterOrEqual";
  if (Op(op, {Same(&b), Number(0, 0)}).Match(condition, facts, nodes)) return true;
  const Pattern below = Op("Less", {Same(&b), Number(0, 0)});
  if (!negative && Op("Not", {below}).Match(condition, facts, nodes)) return true;
  const auto known = ScalarOf(condition);
  const auto divisor = ScalarOf(b);
  return known.has_value() && divisor.has_value() && (*known != 0) == ((*divisor < 0) == negative);
}

// The operands of a floor division, and the nodes that compute it.
struct Division {
  Value* a = nullptr;
  Value* b = nullptr;
  Value* sign = nullptr;
  Value* quotient = nullptr;
  Node* mod = nullptr;
};

// The condition under which truncation rounds up: the signs differ (written by Xor with b < 0, or
// by Equal with b >= 0) and there is a remainder. `a` and `b` match the operands.
Pattern RoundedUp(Division& division, bool by_xor, const Pattern& a, const Pattern& b) {
  const Pattern zero = Number(0, 0);
  const Pattern below = Op("Less", {a, zero});
  const Pattern differ = Op(by_xor ? "Xor" : "Equal", {below, Is(&division.sign)});
  const Pattern rest = Op("Mod", {Same(&division.a), b}, &division.mod);
  return Op("And", {differ, OneOf({Op("Not", {Op("Equal", {rest, zero})}), Op("Cast", {rest})})});
}

Pattern Floored(Division& division, bool by_xor) {
  const Pattern same_a = Same(&division.a);
  const Pattern same_b = Same(&division.b);
  const Pattern quotient = Keep(&division.quotient, Op("Div", {same_a, same_b}));
  const Pattern chosen =
      Op("Where", {RoundedUp(division, by_xor, Is(&division.a), Is(&division.b)),
                   Op("Sub", {quotient, Number(1, 0)}), Same(&division.quotient)});
  const Pattern first = Op("Div", {Is(&division.a), Is(&division.b)});
  const Pattern lowered = Op("Sub", {Keep(&division.quotient, first),
                                     Op("Cast", {RoundedUp(division, by_xor, same_a, same_b)})});
  return OneOf({chosen, lowered});
}

// Rewrites integers that are divided as floats and rounded down. Below 2^24 a float holds them
// exactly, and the quotient is a whole number or at least 1 / b away from one, which is more than
// its rounding error. Larger integers were rounded by the Cast already.
bool FuseFloatDivision(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* a = nullptr;
  Value* quotient = nullptr;
  double b = 0;
  const Pattern division = Op("Div", {Op("Cast", {Is(&a)}), Scalar(&b)});
  MatchedNodes nodes;
  if (!Op("Cast", {Op("Floor", {Keep(&quotient, division)})})
           .Match(node->output(0), facts, nodes)) {
    return false;
  }
  const DataType type = facts.TypeOf(a);
  const DataType wide = facts.TypeOf(quotient);
  if (type != DataType::kInt64 && type != DataType::kInt32) return false;
  if (facts.TypeOf(node->output(0)) != type) return false;
  if (wide != DataType::kFloat && wide != DataType::kDouble) return false;
  constexpr double kLargest = 1 << 24;
  if (!(b >= 1 && b <= kLargest && b == std::floor(b))) return false;
  // A constant of one element may have more axes than a.
  if (facts.RankOf(a) < 0 || facts.RankOf(a) != facts.RankOf(quotient)) return false;
  Value* divisor = patch.Constant("divisor", FromDoubles(type, {}, {b}));
  return patch.Substitute(node, "attnrun::FloorDiv", {a, divisor});
}

bool FuseFloorDivision(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Division division;
  const Pattern by_xor = Floored(division, true);
  const Pattern by_equal = Floored(division, false);
  MatchedNodes nodes;
  const bool negative = by_xor.Match(node->output(0), facts, nodes);
  if (!negative && !by_equal.Match(node->output(0), facts, nodes)) return false;
  const auto& [a, b, sign, quotient, mod] = division;
  if (!IsInteger(facts.TypeOf(a)) || !IsSign(sign, b, negative, facts)) return false;
  if (AttributeOr<int64_t>(*mod, "fmod", 0) != 0) return false;
  // Constants of one element may have more axes than a and b.
  const int rank = facts.RankOf(node->output(0));
  if (rank < 0 || rank != facts.RankOf(quotient)) return false;
  return patch.Substitute(node, "attnrun::FloorDiv", {a, b});
}

}  // namespace

extern const Rule kFloorDivision = {
    .name = "floor_division",
    .summary = "Integer division rounded down becomes attnrun.FloorDiv",
    .starts = {
        {{"Where", FuseFloorDivision}, {"Sub", FuseFloorDivision}, {"Cast", FuseFloatDivision}}}};

}  // namespace attnrun::opt
