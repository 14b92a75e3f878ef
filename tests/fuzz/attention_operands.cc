// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "fuzz/attention_parts.h"
#include "fuzz/blocks.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// [B S N·H] -> [B S N H]
Value* SplitHeads(GraphMaker& m, Value* x, int64_t heads, int64_t width) {
  if (m.failed()) return nullptr;
  switch (m.dice().Int(0, 3)) {
    case 0:
      return m.Op("Reshape", {x, m.Ints({0, 0, heads, width})});
    case 1:
      return m.Op("Reshape", {x, m.Ints({0, -1, heads, width})});
    case 2:
      return m.Op("Reshape", {x, m.Ints({0, 0, heads, -1})});
    default:
      return m.Op(
          "Reshape",
          {x, m.Op("Concat", {m.ExtentOf(x, 0), m.ExtentOf(x, 1), m.Ints({heads}), m.Ints({width})},
                   {{"axis", int64_t{0}}})});
  }
}

// [B S N H] -> [B N S H], with each head repeated.
Value* RepeatHeads(GraphMaker& m, Value* x, int64_t heads, int64_t times, int64_t width) {
  if (m.failed() || times == 1) return x;
  if (m.dice().Wrong()) return m.Op("Tile", {x, m.Ints({1, times, 1, 1})});
  Value* repeated = m.Op("Expand", {m.Unsqueeze(x, {2}), m.Ints({1, 1, times, 1, 1})});
  if (m.dice().Chance(0.5)) {
    return m.Op("Reshape", {repeated, m.Ints({0, heads * times, -1, width})});
  }
  return m.Op("Reshape", {repeated, m.Op("Concat",
                                         {m.ExtentOf(x, 0), m.Ints({heads * times}),
                                          m.ExtentOf(x, 2), m.Ints({width})},
                                         {{"axis", int64_t{0}}})});
}

// [B S N·H] -> [B N S H]
Value* Heads(GraphMaker& m, Value* x, const AttentionShape& shape, int64_t heads, int64_t width) {
  Value* y = m.Transpose(SplitHeads(m, x, heads, width), {0, 2, 1, 3});
  if (width % 2 == 0 && m.dice().Chance(0.1)) y = AddRotary(m, y);
  if (m.dice().Chance(0.05)) y = AddNormalization(m, y);
  return RepeatHeads(m, y, heads, shape.heads / heads, width);
}

// [B N S H] -> [B N H S]
Value* TurnedKeys(GraphMaker& m, Value* x, const AttentionShape& shape) {
  if (shape.kv_heads == shape.heads && m.dice().Chance(0.5)) {
    return m.Transpose(SplitHeads(m, x, shape.heads, shape.width), {0, 2, 3, 1});
  }
  return m.Transpose(Heads(m, x, shape, shape.kv_heads, shape.width), {0, 1, 3, 2});
}

Operands Folded(GraphMaker& m, const Operands& operands, const AttentionShape& shape) {
  return {
      m.Op("Reshape",
           {operands.q,
            m.Op("Concat", {m.Ints({-1}), m.ExtentOf(operands.q, 2), m.Ints({shape.width})},
                 {{"axis", int64_t{0}}})}),
      m.Op("Reshape",
           {operands.k,
            m.Op("Concat", {m.Ints({-1}), m.Ints({shape.width}), m.ExtentOf(operands.k, 3)},
                 {{"axis", int64_t{0}}})}),
      m.Op("Reshape",
           {operands.v,
            m.Op("Concat", {m.Ints({-1}), m.ExtentOf(operands.v, 2), m.Ints({shape.value_width})},
                 {{"axis", int64_t{0}}})})};
}

// Three slices of the columns of one projection.
Operands Packed(GraphMaker& m, Value* x, const AttentionShape& shape) {
  const int64_t q = shape.heads * shape.width;
  const int64_t k = shape.kv_heads * shape.width;
  const int64_t v = shape.kv_heads * shape.value_width;
  Value* all = AddProjection(m, x, q + k + v);
  if (m.dice().Chance(0.5)) {
    const auto parts = m.Ops("Split", 3, {all, m.Ints({q, k, v})}, {{"axis", int64_t{-1}}});
    return {parts[0], parts[1], parts[2]};
  }
  if (q == k && k == v && m.dice().Chance(0.5)) {
    Value* split = m.Op("Reshape", {all, m.Ints({0, 0, 3, q})});
    const auto piece = [&](int64_t i) {
      return m.Op("Gather", {split, m.Int(i)}, {{"axis", int64_t{2}}});
    };
    return {piece(0), piece(1), piece(m.dice().Wrong() ? 1 : 2)};
  }
  const auto slice = [&](int64_t start, int64_t end) {
    return m.Op("Slice", {all, m.Ints({start}), m.Ints({end}), m.Ints({2})});
  };
  return {slice(0, q), slice(q, q + k), slice(q + k, q + k + v)};
}

}  // namespace

Operands AddOperands(GraphMaker& m, Value* x, Value* memory, const AttentionShape& shape) {
  Operands flat;
  if (x == memory && m.dice().Chance(0.3)) {
    flat = Packed(m, x, shape);
  } else {
    flat.q = AddProjection(m, x, shape.heads * shape.width);
    const bool shared = x == memory && shape.heads == shape.kv_heads && m.dice().Wrong();
    flat.k = shared ? flat.q : AddProjection(m, memory, shape.kv_heads * shape.width);
    flat.v = AddProjection(m, m.dice().Wrong() ? x : memory, shape.kv_heads * shape.value_width);
  }
  if (m.dice().Chance(0.1)) m.Keep(m.dice().Of({flat.q, flat.k, flat.v}));
  const Operands operands = {Heads(m, flat.q, shape, shape.heads, shape.width),
                             TurnedKeys(m, flat.k, shape),
                             Heads(m, flat.v, shape, shape.kv_heads, shape.value_width)};
  return shape.folded ? Folded(m, operands, shape) : operands;
}

Value* AddMergedHeads(GraphMaker& m, Value* y, Value* x, const AttentionShape& shape) {
  if (m.failed()) return nullptr;
  const int64_t columns = shape.heads * shape.value_width;
  if (shape.folded) {
    y = m.Op("Reshape", {y, m.Op("Concat",
                                 {m.Ints({-1}), m.Ints({shape.heads}), m.ExtentOf(y, 1),
                                  m.Ints({shape.value_width})},
                                 {{"axis", int64_t{0}}})});
  }
  y = m.Transpose(y, {0, 2, 1, 3});
  if (m.dice().Chance(0.6)) {
    y = m.Op("Reshape", {y, m.Ints({0, 0, m.dice().Chance(0.5) ? -1 : columns})});
  } else {
    y = m.Op("Reshape", {y, m.Op("Concat", {m.ExtentOf(y, 0), m.ExtentOf(y, 1), m.Ints({columns})},
                                 {{"axis", int64_t{0}}})});
  }
  if (m.failed() || m.dice().Chance(0.3)) return y;
  const auto width = m.Extent(x, 2);
  y = AddProjection(m, y, width.value_or(columns));
  return m.dice().Chance(0.7) ? m.Commute("Add", y, x) : y;
}

}  // namespace attnrun::testing
