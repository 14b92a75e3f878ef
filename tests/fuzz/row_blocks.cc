// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

Value* Square(GraphMaker& m, Value* x) {
  if (m.dice().Chance(0.5)) return m.Op("Mul", {x, x});
  return m.Op("Pow", {x, m.Number(2)});
}

// y / sqrt(x) in a random spelling.
Value* TimesReciprocalRoot(GraphMaker& m, Value* y, Value* x) {
  Value* root = m.dice().Chance(0.2) ? m.Op("Pow", {x, m.Number(0.5)}) : m.Op("Sqrt", {x});
  if (m.dice().Chance(0.4)) return m.Op("Div", {y, root});
  Value* inverse =
      m.dice().Chance(0.5) ? m.Op("Reciprocal", {root}) : m.Op("Div", {m.Number(1), root});
  return m.Commute("Mul", y, inverse);
}

Value* WithGammaAndBeta(GraphMaker& m, Value* y, bool beta) {
  if (m.failed()) return nullptr;
  const auto width = m.Extent(y, -1);
  if (!width.has_value()) return m.Fail();
  std::vector<int64_t> shape = {*width};
  if (m.dice().Wrong()) shape = {1};
  if (m.dice().Chance(0.1)) shape.insert(shape.begin(), 1);
  if (m.dice().Chance(0.8)) y = m.Commute("Mul", y, m.Weight(shape));
  if (beta && m.dice().Chance(0.8)) y = m.Commute("Add", y, m.Weight(shape));
  return y;
}

Value* Mean(GraphMaker& m, Value* x) {
  if (m.failed()) return nullptr;
  const int64_t axis = m.Axis(-1, m.Rank(x));
  if (m.dice().Wrong()) return m.Reduce("ReduceSum", x, {axis});
  return m.Reduce("ReduceMean", x, {axis}, !m.dice().Wrong());
}

Value* Epsilon(GraphMaker& m, Value* variance) {
  return m.Commute("Add", variance, m.Number(m.dice().Of({1e-5, 1e-6, 1e-12, 0.1})));
}

Value* AddLayerNormalization(GraphMaker& m, Value* x) {
  Value* centered = m.Op("Sub", {x, Mean(m, x)});
  Value* again = m.dice().Chance(0.2) ? m.Op("Sub", {x, Mean(m, x)}) : centered;
  Value* y = TimesReciprocalRoot(m, centered, Epsilon(m, Mean(m, Square(m, again))));
  return WithGammaAndBeta(m, y, true);
}

Value* AddRmsNormalization(GraphMaker& m, Value* x) {
  Value* y = TimesReciprocalRoot(m, x, Epsilon(m, Mean(m, Square(m, x))));
  return WithGammaAndBeta(m, y, false);
}

Value* HalfOf(GraphMaker& m, Value* x) {
  return m.dice().Chance(0.7) ? m.Commute("Mul", x, m.Number(0.5)) : m.Op("Div", {x, m.Number(2)});
}

// x · (1 + inner) / 2, with the factors in random order.
Value* HalfTimesOnePlus(GraphMaker& m, Value* x, Value* inner) {
  Value* sum = m.Commute("Add", inner, m.Number(1));
  switch (m.dice().Int(0, 2)) {
    case 0:
      return m.Commute("Mul", HalfOf(m, x), sum);
    case 1:
      return HalfOf(m, m.Commute("Mul", x, sum));
    default:
      return m.Commute("Mul", x, HalfOf(m, sum));
  }
}

Value* AddErfGelu(GraphMaker& m, Value* x) {
  Value* scaled = m.dice().Chance(0.5) ? m.Op("Div", {x, m.Number(std::numbers::sqrt2)})
                                       : m.Commute("Mul", x, m.Number(std::numbers::sqrt2 / 2));
  return HalfTimesOnePlus(m, x, m.Op("Erf", {scaled}));
}

Value* AddTanhGelu(GraphMaker& m, Value* x) {
  Value* cube = m.dice().Chance(0.5) ? m.Op("Pow", {x, m.Number(3)})
                                     : m.Commute("Mul", x, m.Op("Mul", {x, x}));
  Value* inner = m.Commute("Add", x, m.Commute("Mul", cube, m.Number(0.044715)));
  inner = m.Commute("Mul", inner, m.Number(std::sqrt(2 / std::numbers::pi)));
  return HalfTimesOnePlus(m, x, m.Op("Tanh", {inner}));
}

Value* AddSwish(GraphMaker& m, Value* x) {
  Value* inner = m.dice().Chance(0.3) ? m.Commute("Mul", x, m.Number(1.702)) : x;
  return m.Commute("Mul", x, m.Op("Sigmoid", {inner}));
}

}  // namespace

Value* AddNormalization(GraphMaker& m, Value* x) {
  if (m.failed() || m.Rank(x) == 0) return m.Fail();
  const auto width = m.Extent(x, -1);
  if (m.dice().Chance(0.2) && width.has_value()) {
    std::vector<Value*> inputs = {x, m.Weight({*width})};
    if (m.dice().Chance(0.5)) inputs.push_back(m.Weight({*width}));
    return m.Op("LayerNormalization", inputs, {{"axis", m.Axis(-1, m.Rank(x))}});
  }
  return m.dice().Chance(0.5) ? AddLayerNormalization(m, x) : AddRmsNormalization(m, x);
}

Value* AddActivation(GraphMaker& m, Value* x) {
  switch (m.dice().Int(0, 4)) {
    case 0:
      return AddErfGelu(m, x);
    case 1:
      return AddTanhGelu(m, x);
    case 2:
      return AddSwish(m, x);
    case 3:
      if (m.opset() >= 20) {
        return m.Op("Gelu", {x}, {{"approximate", m.dice().Of<std::string>({"none", "tanh"})}});
      }
      [[fallthrough]];
    default:
      return m.Op(m.dice().Of<std::string>({"Relu", "Tanh", "Sigmoid", "Erf", "HardSwish"}), {x});
  }
}

Value* AddSoftmax(GraphMaker& m, Value* x) {
  if (m.failed() || m.Rank(x) == 0) return m.Fail();
  const int64_t axis = m.Axis(-1, m.Rank(x));
  if (m.dice().Chance(0.7)) return m.Op("Softmax", {x}, {{"axis", axis}});
  // Without a maximum or a clip, overflow, or a row that underflows to 0, would give NaN.
  Value* shifted = m.dice().Chance(0.8) ? m.Op("Sub", {x, m.Reduce("ReduceMax", x, {axis})})
                                        : m.Op("Clip", {x, m.Number(-40), m.Number(40)});
  Value* exponential = m.Op("Exp", {shifted});
  return m.Op("Div", {exponential, m.Reduce("ReduceSum", exponential, {axis})});
}

Value* AddRotary(GraphMaker& m, Value* x) {
  if (m.failed() || m.Rank(x) < 2) return m.Fail();
  const auto width = m.Extent(x, -1);
  if (!width.has_value() || *width % 2 != 0) return m.Fail();
  const int64_t half = m.dice().Wrong() ? *width / 2 + 1 : *width / 2;
  Value* first = m.Op("Slice", {x, m.Ints({0}), m.Ints({half}), m.Ints({-1})});
  Value* second = m.Op("Slice", {x, m.Ints({half}), m.Ints({1000}), m.Ints({-1})});
  Value* turned = m.Op("Concat", {m.Op("Neg", {second}), first}, {{"axis", int64_t{-1}}});
  Value* angles = m.Input(DataType::kFloat, {"seq", *width / 2});
  if (m.dice().Chance(0.9)) angles = m.Op("Concat", {angles, angles}, {{"axis", int64_t{-1}}});
  Value* cosines = m.Op("Cos", {angles});
  Value* sines = m.Op("Sin", {angles});
  return m.Commute("Add", m.Commute("Mul", x, cosines), m.Commute("Mul", turned, sines));
}

}  // namespace attnrun::testing
