// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

// A bias in a shape that broadcasts to the product, mostly one number per column.
Value* Bias(GraphMaker& m, Value* product, int64_t columns) {
  if (m.failed()) return nullptr;
  Dice& dice = m.dice();
  if (dice.Wrong()) return m.Number(0.5);
  if (dice.Chance(0.03) && m.Extent(product, -2).has_value()) {
    return m.Weight({*m.Extent(product, -2), 1});
  }
  std::vector<int64_t> shape = {columns};
  if (dice.Chance(0.15)) shape.insert(shape.begin(), dice.Int(1, m.Rank(product)), 1);
  return m.Weight(shape);
}

Value* WithBias(GraphMaker& m, Value* product, int64_t columns) {
  if (m.failed() || m.dice().Chance(0.3)) return product;
  return m.Commute(m.dice().Wrong() ? "Mul" : "Add", product, Bias(m, product, columns));
}

Value* AddGemm(GraphMaker& m, Value* x, int64_t rows, int64_t columns) {
  AttributeMap attributes;
  const bool transposed = m.dice().Chance(0.5);
  if (transposed) attributes["transB"] = int64_t{1};
  if (m.dice().Wrong()) attributes["alpha"] = 0.5F;
  if (m.dice().Wrong()) attributes["beta"] = 2.0F;
  if (m.dice().Wrong()) attributes["transA"] = int64_t{1};
  std::vector<Value*> inputs = {x,
                                transposed ? m.Weight({columns, rows}) : m.Weight({rows, columns})};
  if (m.dice().Chance(0.7)) inputs.push_back(Bias(m, x, columns));
  return m.Op("Gemm", inputs, attributes);
}

// Flattens all axes but the last, applies a Gemm and restores the axes.
Value* AddFlatGemm(GraphMaker& m, Value* x, int64_t rows, int64_t columns) {
  Value* flat = m.Op("Reshape", {x, m.Ints({-1, rows})});
  Value* product = AddGemm(m, flat, rows, columns);
  Value* shape = m.Op("Concat", {m.ExtentOf(x, 0), m.ExtentOf(x, 1), m.Ints({columns})},
                      {{"axis", int64_t{0}}});
  return m.Op("Reshape", {product, shape});
}

Value* AddEinsum(GraphMaker& m, Value* x, int64_t rows, int64_t columns) {
  const bool transposed = m.dice().Chance(0.5);
  const std::string equation = m.dice().Wrong() ? "bsd,de->bes"
                               : transposed     ? "bsd,ed->bse"
                                                : "bsd,de->bse";
  return m.Op("Einsum", {x, transposed ? m.Weight({columns, rows}) : m.Weight({rows, columns})},
              {{"equation", equation}});
}

Value* AddPointwise(GraphMaker& m, Value* x, int64_t rows, int64_t columns) {
  Value* y = m.Transpose(x, {0, 2, 1});
  std::vector<Value*> inputs = {y, m.Weight({columns, rows, 1})};
  if (m.dice().Chance(0.5)) inputs.push_back(m.Weight({columns}));
  y = m.Op("Conv", inputs, {{"kernel_shape", std::vector<int64_t>{1}}});
  return m.dice().Chance(0.9) ? m.Transpose(y, {0, 2, 1}) : y;
}

Value* AddMatMul(GraphMaker& m, Value* x, int64_t rows, int64_t columns) {
  const bool transposed = m.dice().Chance(0.3);
  Value* weight = transposed
                      ? m.Transpose(m.Weight({columns, rows}), {1, 0})
                      : m.Weight({rows, columns}, 1 / std::sqrt(1.0 * static_cast<double>(rows)));
  if (m.dice().Wrong()) weight = m.Unsqueeze(weight, {0});
  return m.Op("MatMul", {x, weight});
}

}  // namespace

Value* AddProjection(GraphMaker& m, Value* x, int64_t columns) {
  if (m.failed()) return nullptr;
  const auto rows = m.Extent(x, -1);
  if (!rows.has_value()) return m.Fail();
  Dice& dice = m.dice();
  if (m.Rank(x) == 2 && dice.Chance(0.5)) return AddGemm(m, x, *rows, columns);
  if (m.Rank(x) == 3 && dice.Chance(0.25)) {
    if (dice.Chance(0.4)) return AddFlatGemm(m, x, *rows, columns);
    if (dice.Chance(0.3)) return AddPointwise(m, x, *rows, columns);
    return WithBias(m, AddEinsum(m, x, *rows, columns), columns);
  }
  return WithBias(m, AddMatMul(m, x, *rows, columns), columns);
}

Value* AddSiblings(GraphMaker& m, Value* x) {
  Dice& dice = m.dice();
  const int64_t columns = dice.Int(1, 9);
  std::vector<Value*> siblings;
  const int64_t count = dice.Int(2, 4);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t width = dice.Chance(0.7) ? columns : dice.Int(1, 9);
    siblings.push_back(AddProjection(m, x, width));
    if (dice.Chance(0.15)) siblings.back() = AddActivation(m, siblings.back());
    m.Keep(siblings.back());
  }
  if (dice.Chance(0.3)) return m.Op("Concat", siblings, {{"axis", int64_t{-1}}});
  if (m.failed() || !m.SameShape(siblings[0], siblings[1])) return siblings[0];
  if (dice.Chance(0.5)) siblings[0] = AddActivation(m, siblings[0]);
  return m.Commute(dice.Of<std::string>({"Mul", "Add"}), siblings[0], siblings[1]);
}

}  // namespace attnrun::testing
