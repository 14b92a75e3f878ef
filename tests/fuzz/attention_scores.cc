// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/elements.h"
#include "fuzz/attention_parts.h"
#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

Value* Scaled(GraphMaker& m, Value* x, double scale) {
  if (m.dice().Chance(0.5)) return m.Commute("Mul", x, m.Number(scale));
  return m.Op("Div", {x, m.Number(1 / scale)});
}

double Closing(GraphMaker& m) {
  return m.dice().Of<double>({-1e9, -1e4, -3.4028234663852886e38, -INFINITY});
}

// A mask of shape [B 1 1 T], [1 1 S T], [B 1 S T] or similar; 1 marks unmasked scores.
Value* Mask(GraphMaker& m, Value* scores, DataType type) {
  if (m.failed()) return nullptr;
  const auto keys = m.Extent(scores, -1);
  const auto symbol = [&](int axis) -> std::optional<DimSpec> {
    for (const char* name : {"batch", "seq", "past"}) {
      if (m.HasExtentOf(scores, axis, name)) return DimSpec(name);
    }
    return std::nullopt;
  };
  const auto last = keys.has_value() ? DimSpec(*keys) : symbol(-1);
  if (!last.has_value()) {
    m.Fail();
    return nullptr;
  }
  std::vector<DimSpec> shape(m.Rank(scores), DimSpec(1));
  shape.back() = *last;
  for (int axis = 0; axis + 1 < m.Rank(scores); ++axis) {
    const auto extent = symbol(axis);
    if (extent.has_value() && m.dice().Chance(0.4)) shape[axis] = *extent;
  }
  if (m.dice().Chance(0.2)) shape.erase(shape.begin());
  return m.Input(type, shape, 0, 1);
}

Value* Masked(GraphMaker& m, Value* scores) {
  switch (m.dice().Int(0, 6)) {
    case 0:
      return m.Commute("Add", scores, Mask(m, scores, DataType::kFloat));
    case 1:
      return m.Op("Where", {Mask(m, scores, DataType::kBool), scores, m.Number(Closing(m))});
    case 2:
      return m.Op("Where", {Mask(m, scores, DataType::kBool), m.Number(Closing(m)), scores});
    case 3: {
      Value* open = m.Op("Cast", {Mask(m, scores, DataType::kInt64)}, {{"to", int64_t{1}}});
      Value* closed = m.Op("Sub", {m.Number(1), open});
      const double far = m.dice().Of({-1e4, -1e9, -3.4028234663852886e38});
      return m.Commute("Add", scores, m.Commute("Mul", closed, m.Number(far)));
    }
    case 4: {
      Value* lower = m.Op("Sub", {scores, m.Number(1e9)});
      return m.Op("Where", {Mask(m, scores, DataType::kBool), scores, lower});
    }
    case 5: {
      Value* open = m.Op("Cast", {Mask(m, scores, DataType::kBool)}, {{"to", int64_t{1}}});
      Value* closed = m.Commute("Mul", m.Op("Sub", {m.Number(1), open}), m.Number(1e4));
      return m.Op("Sub", {m.Commute("Mul", scores, open), closed});
    }
    default: {
      Value* closed = m.Op("Equal", {Mask(m, scores, DataType::kInt64), m.Int(0)});
      return m.Op("Where", {closed, m.Number(Closing(m)), scores});
    }
  }
}

// Two masks, which may overlap, and a bias behind them.
Value* MaskedTwice(GraphMaker& m, Value* scores) {
  const double closing = Closing(m);
  for (int i = 0; i < 2; ++i) {
    scores = m.Op("Where", {Mask(m, scores, DataType::kBool), scores, m.Number(closing)});
  }
  return m.Commute("Add", scores, Mask(m, scores, DataType::kFloat));
}

// A mask of the scores that closes the probabilities, too, or these alone. These may then be
// divided by its sum.
Value* MaskedBehind(GraphMaker& m, Value* scores) {
  Value* mask = Mask(m, scores, DataType::kBool);
  if (m.dice().Chance(0.6)) scores = m.Op("Where", {mask, scores, m.Number(Closing(m))});
  if (m.dice().Chance(0.3)) scores = Masked(m, scores);
  Value* p = m.Op("Softmax", {scores}, {{"axis", m.Axis(-1, m.Rank(scores))}});
  Value* number = m.Op("Cast", {mask}, {{"to", int64_t{1}}});
  p = m.dice().Chance(0.5) ? m.Commute("Mul", p, number) : m.Op("Where", {mask, p, m.Number(0)});
  if (m.dice().Chance(0.6)) return p;
  Value* sum = m.Reduce("ReduceSum", p, {-1});
  return m.Op("Div", {p, m.Op("Add", {sum, m.Number(1e-13)})});
}

Value* Capped(GraphMaker& m, Value* scores) {
  const double cap = m.dice().Of({3.0, 30.0});
  return m.Commute("Mul", m.Op("Tanh", {m.Op("Div", {scores, m.Number(cap)})}), m.Number(cap));
}

}  // namespace

Value* AddScores(GraphMaker& m, const Operands& operands, const AttentionShape& shape) {
  const double scale = 1 / std::sqrt(static_cast<double>(shape.width));
  Operands scaled = operands;
  const int64_t place = m.dice().Int(0, 4);
  if (place == 0) scaled.q = Scaled(m, scaled.q, scale);
  if (place == 1) {
    scaled.q = Scaled(m, scaled.q, std::sqrt(scale));
    scaled.k = Scaled(m, scaled.k, std::sqrt(scale));
  }
  Value* scores = m.Op("MatMul", {scaled.q, scaled.k});
  if (place == 2 || place == 3) scores = Scaled(m, scores, scale);
  if (m.dice().Chance(0.1)) scores = Capped(m, scores);
  if (m.dice().Chance(0.03)) scores = AddActivation(m, scores);
  if (m.dice().Chance(0.15)) scores = m.Commute("Add", scores, Mask(m, scores, DataType::kFloat));
  if (m.dice().Chance(0.6)) scores = Masked(m, scores);
  if (m.dice().Chance(0.1)) scores = MaskedTwice(m, scores);
  if (m.dice().Wrong()) scores = Scaled(m, scores, 0.5);
  return scores;
}

Value* AddProbabilities(GraphMaker& m, Value* scores) {
  if (m.failed()) return nullptr;
  if (m.dice().Chance(0.1)) return MaskedBehind(m, scores);
  const bool doubles = m.dice().Chance(0.05);
  if (doubles) scores = m.Op("Cast", {scores}, {{"to", int64_t{11}}});
  Value* y = AddSoftmax(m, scores);
  if (doubles) y = m.Op("Cast", {y}, {{"to", int64_t{1}}});
  if (m.dice().Chance(0.15)) y = m.Op("Where", {m.Op("IsNaN", {y}), m.Number(0), y});
  if (m.dice().Chance(0.03)) y = m.Op("Dropout", {y});
  if (m.dice().Chance(0.05)) m.Keep(y);
  return y;
}

}  // namespace attnrun::testing
