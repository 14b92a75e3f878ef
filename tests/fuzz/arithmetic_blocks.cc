// SPDX-License-Identifier: Apache-2.0
#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

Value* Partner(GraphMaker& m, Value* x) {
  if (m.dice().Chance(0.3)) return m.Number(m.dice().Of({0.0, 1.0, -1.0, 0.5, 2.0}), m.TypeOf(x));
  const bool alike = m.dice().Chance(0.8);
  return m.Any([&](const Value* value) {
    return m.TypeOf(value) == m.TypeOf(x) && (!alike || m.SameShape(value, x));
  });
}

Value* AddReduction(GraphMaker& m, Value* x) {
  if (m.Rank(x) == 0) return m.Fail();
  const int64_t axis = m.Axis(m.dice().Int(0, m.Rank(x) - 1), m.Rank(x));
  const auto op = m.dice().Of<std::string>({"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"});
  return m.Reduce(op, x, {axis}, m.dice().Chance(0.6));
}

}  // namespace

Value* AddArithmetic(GraphMaker& m, Value* x) {
  if (m.failed()) return nullptr;
  if (m.dice().Chance(0.15)) return AddReduction(m, x);
  if (m.dice().Chance(0.15)) {
    return m.Op(m.dice().Of<std::string>({"Neg", "Identity", "Abs", "Identity", "Sign"}), {x});
  }
  if (m.dice().Chance(0.1)) {
    Value* y = Partner(m, x);
    if (m.failed() || m.Rank(y) != m.Rank(x) || m.Rank(x) < 2) return m.Fail();
    return m.Op("MatMul", {x, m.dice().Chance(0.5) ? y : AddView(m, y)});
  }
  const auto op = m.dice().Of<std::string>({"Add", "Add", "Mul", "Sub", "Max", "Min", "Div"});
  Value* y = Partner(m, x);
  if (op == "Div") y = m.Commute("Add", m.Op("Abs", {y}), m.Number(1, m.TypeOf(x)));
  return m.Commute(op, x, y);
}

Value* AddCasts(GraphMaker& m, Value* x) {
  // float16, double, int32, bool, float
  const int64_t there = m.dice().Of<int64_t>({10, 11, 6, 9, 1});
  Value* y = m.Op("Cast", {x}, {{"to", there}});
  if (there == 11 && m.dice().Chance(0.3)) y = m.Op("Identity", {y});
  return m.Op("Cast", {y}, {{"to", int64_t{1}}});
}

Value* AddWhere(GraphMaker& m, Value* x) {
  const auto op = m.dice().Of<std::string>({"Less", "GreaterOrEqual", "Equal"});
  Value* condition = m.Op(op, {x, Partner(m, x)});
  if (m.dice().Chance(0.2)) condition = m.Op("Not", {condition});
  Value* other = m.Number(m.dice().Of({0.0, -100.0, 1.0}));
  if (m.dice().Chance(0.5)) return m.Op("Where", {condition, x, other});
  return m.Op("Where", {condition, other, x});
}

}  // namespace attnrun::testing
