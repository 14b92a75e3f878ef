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
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// How an exporter asks if the signs of a and b differ.
enum class Spelling {
  // Xor(a < 0, b < 0)
  kXor,
  // Equal(a < 0, b >= 0)
  kEqual,
  // Not(Equal(Sign(a), Sign(b))). Where a is 0 there is no remainder.
  kSigns,
};

// True if `condition` is what the spelling has of b.
bool IsSign(Value* condition, Value* b, Spelling spelling, Facts& facts) {
  MatchedNodes nodes;
  if (spelling == Spelling::kSigns) {
    if (Op("Sign", {Same(&b)}).Match(condition, facts, nodes)) return true;
    const auto known = ScalarOf(condition);
    const auto divisor = ScalarOf(b);
    return known.has_value() && divisor.has_value() && *known == (*divisor > 0) - (*divisor < 0);
  }
  const bool negative = spelling == Spelling::kXor;
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

// The condition under which truncation rounds up: the signs differ and there is a remainder. `a` and
// `b` match the operands.
Pattern RoundedUp(Division& division, Spelling spelling, const Pattern& a, const Pattern& b) {
  const Pattern zero = Number(0, 0);
  const Pattern below = Op("Less", {a, zero});
  const Pattern sign = Is(&division.sign);
  const Pattern differ = spelling == Spelling::kXor ? Op("Xor", {below, sign})
                         : spelling == Spelling::kEqual
                             ? Op("Equal", {below, sign})
                             : Op("Not", {Op("Equal", {Op("Sign", {a}), sign})});
  const Pattern rest = Op("Mod", {Same(&division.a), b}, &division.mod);
  return Op("And", {differ, OneOf({Op("Not", {Op("Equal", {rest, zero})}), Op("Cast", {rest})})});
}

Pattern Floored(Division& division, Spelling spelling) {
  const Pattern same_a = Same(&division.a);
  const Pattern same_b = Same(&division.b);
  const Pattern quotient = Keep(&division.quotient, Op("Div", {same_a, same_b}));
  const Pattern chosen =
      Op("Where", {RoundedUp(division, spelling, Is(&division.a), Is(&division.b)),
                   Op("Sub", {quotient, Number(1, 0)}), Same(&division.quotient)});
  const Pattern rounded = RoundedUp(division, spelling, Is(&division.a), Is(&division.b));
  const Pattern lowered = Op("Sub", {Is(&division.quotient), Op("Cast", {rounded})});
  return OneOf({chosen, lowered});
}

// True if the value is Div(a, b), or was read off the extents of tensors as that number.
bool IsQuotient(const Division& division, Facts& facts) {
  const auto& [a, b, sign, quotient, mod] = division;
  const Node* node = ProducerOf(quotient, "Div");
  if (node != nullptr && node->input(0) == a && node->input(1) == b) return true;
  const auto number = [&](Value* value) -> std::optional<SymInt> {
    const auto& contents = facts.Of(value).contents;
    if (!contents.has_value() || contents->size() != 1) return std::nullopt;
    return contents->front();
  };
  const auto x = number(a);
  const auto y = number(b);
  const auto found = number(quotient);
  return x.has_value() && y.has_value() && found.has_value() && *found == SymInt::Quotient(*x, *y);
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
  MatchedNodes nodes;
  const Spelling spellings[] = {Spelling::kXor, Spelling::kEqual, Spelling::kSigns};
  const auto* const spelling = absl::c_find_if(spellings, [&](Spelling tried) {
    return Floored(division, tried).Match(node->output(0), facts, nodes);
  });
  if (spelling == std::end(spellings)) return false;
  const auto& [a, b, sign, quotient, mod] = division;
  if (!IsInteger(facts.TypeOf(a)) || !IsSign(sign, b, *spelling, facts)) return false;
  if (!IsQuotient(division, facts)) return false;
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
