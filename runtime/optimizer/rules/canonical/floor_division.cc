// SPDX-License-Identifier: Apache-2.0

// Recognizes the integer division that rounds down (Python's //), for which ONNX has no operator.
// Exporters write it as the truncated quotient, minus one where the signs differ and there is a
// remainder. With q = Div(a, b), the exporters of TorchScript, dynamo and transformers write:
//
//   Where(And(Xor(Less(a, 0), Less(b, 0)), Not(Equal(Mod(a, b), 0))), Sub(q, 1), q)
//   Sub(q, Cast(And(Equal(Less(a, 0), GreaterOrEqual(b, 0)), Cast(Mod(a, b), bool))))
//   Sub(q, Cast(And(Not(Equal(Sign(a), Sign(b))), Cast(Mod(a, b), bool))))
//     ->  attnrun.FloorDiv(a, b)
//
// For a whole number b > 0, dynamo also writes:
//
//   Cast(Floor(Div(Cast(a, float), b)), int)  ->  attnrun.FloorDiv(a, b)

#include <cmath>

#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The operands of a floor division, and the values and nodes that compute it.
struct Division {
  Value* a = nullptr;
  Value* b = nullptr;
  // True if the signs of a and b differ, and what is compared there with that of a.
  Value* differ = nullptr;
  Value* sign = nullptr;
  Value* quotient = nullptr;
  Value* rest = nullptr;
};

// True if `division.sign` is what its spelling has of b: b < 0 with Xor, b >= 0 with Equal, Sign(b)
// with Not.
bool HasSignOfDivisor(const Division& division, Facts& facts) {
  const auto& [a, b, differ, sign, quotient, rest] = division;
  MatchedNodes nodes;
  const Pattern same_b = Same(&b);
  const Pattern below = Op("Less", {same_b, Number(0, 0)});
  const auto known = ScalarOf(sign);
  const auto divisor = ScalarOf(b);
  const auto is = [&](const Pattern& written, double expected) {
    return written.Match(sign, facts, nodes) || (divisor.has_value() && known == expected);
  };
  const double d = divisor.value_or(0);
  if (ProducerOf(differ, "Xor") != nullptr) return is(below, d < 0 ? 1 : 0);
  if (ProducerOf(differ, "Not") != nullptr) return is(Op("Sign", {same_b}), (d > 0) - (d < 0));
  const Pattern not_below = Op("GreaterOrEqual", {same_b, Number(0, 0)});
  return is(OneOf({not_below, Op("Not", {below})}), d >= 0 ? 1 : 0);
}

// The condition under which truncation rounds up: the signs differ and there is a remainder. Where
// a is 0 there is none, whatever Sign gives.
Pattern RoundedUp(Division& division) {
  const Pattern zero = Number(0, 0);
  const Pattern a = Is(&division.a);
  const Pattern below = Op("Less", {a, zero});
  const Pattern sign = Is(&division.sign);
  const Pattern differ = OneOf({Op("Xor", {below, sign}), Op("Equal", {below, sign}),
                                Op("Not", {Op("Equal", {Op("Sign", {a}), sign})})});
  const Pattern rest = Is(&division.rest);
  return Op("And", {Keep(&division.differ, differ),
                    OneOf({Op("Not", {Op("Equal", {rest, zero})}), Op("Cast", {rest})})});
}

Pattern Floored(Division& division) {
  const Pattern rounded = RoundedUp(division);
  const Pattern quotient = Is(&division.quotient);
  const Pattern chosen =
      Op("Where", {rounded, Op("Sub", {quotient, Number(1, 0)}), Same(&division.quotient)});
  return OneOf({chosen, Op("Sub", {quotient, Op("Cast", {rounded})})});
}

// True if the value is Div(a, b), or was read off the extents of tensors as that number.
bool IsQuotient(const Division& division, Facts& facts) {
  const auto& [a, b, differ, sign, quotient, rest] = division;
  const Node* node = ProducerOf(quotient, "Div");
  if (node != nullptr && node->input(0) == a && node->input(1) == b) return true;
  const auto x = facts.Of(a).OnlyElement();
  const auto y = facts.Of(b).OnlyElement();
  const auto found = facts.Of(quotient).OnlyElement();
  return x.has_value() && y.has_value() && found.has_value() && *found == SymInt::Quotient(*x, *y);
}

// b of a remainder Mod(a, b). Where the remainder was read off the extents of tensors, b is the
// whole number of which a - rest is the multiple `quotient`. Null if it is neither.
Value* FindDivisor(const Division& division, Facts& facts, Patch& patch) {
  const Node* mod = ProducerOf(division.rest, "Mod");
  if (mod != nullptr) {
    const bool truncates = AttributeOr<int64_t>(*mod, "fmod", 0) != 0;
    return mod->input(0) == division.a && !truncates ? mod->input(1) : nullptr;
  }
  const auto x = facts.Of(division.a).OnlyElement();
  const auto rest = facts.Of(division.rest).OnlyElement();
  const auto quotient = facts.Of(division.quotient).OnlyElement();
  if (!x.has_value() || !rest.has_value() || !quotient.has_value()) return nullptr;
  const auto divisor = SymInt::DivideExactly(*x - *rest, *quotient).value_or(0).constant();
  if (divisor.value_or(0) == 0) return nullptr;
  return patch.Constant("divisor", FromInts(facts.TypeOf(division.a), {}, {*divisor}));
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
  Value* divisor = patch.Number("divisor", type, b);
  return patch.Substitute(node, "attnrun::FloorDiv", {a, divisor});
}

bool FuseFloorDivision(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Division division;
  MatchedNodes nodes;
  if (!Floored(division).Match(node->output(0), facts, nodes)) return false;
  if (!IsInteger(facts.TypeOf(division.a))) return false;
  division.b = FindDivisor(division, facts, patch);
  if (division.b == nullptr || !HasSignOfDivisor(division, facts)) return false;
  if (!IsQuotient(division, facts)) return false;
  // Constants of one element may have more axes than a and b.
  const int rank = facts.RankOf(node->output(0));
  if (rank < 0 || rank != facts.RankOf(division.quotient)) return false;
  return patch.Substitute(node, "attnrun::FloorDiv", {division.a, division.b});
}

}  // namespace

extern const Rule kFloorDivision = {
    .name = "floor_division",
    .summary = "Integer division rounded down becomes attnrun.FloorDiv",
    .starts = {
        {{"Where", FuseFloorDivision}, {"Sub", FuseFloorDivision}, {"Cast", FuseFloatDivision}}}};

}  // namespace attnrun::opt
