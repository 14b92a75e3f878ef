// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kInt64 = static_cast<int64_t>(DataType::kInt64);

Value* Joined(GraphMaker& m, std::vector<Value*> parts, int64_t axis = 0) {
  return m.Op("Concat", std::move(parts), {{"axis", axis}});
}

// A floor division of integers.
Value* AddFloorDivision(GraphMaker& m, Value* x) {
  Value* a = m.Op("Cast", {m.Op("Mul", {x, m.Number(4)})}, {{"to", kInt64}});
  const int64_t by = m.dice().Of<int64_t>({2, 3, -2, -3, 1});
  Value* b = m.Int(by);
  Value* quotient = m.Op("Div", {a, b});
  const bool negative = (by < 0) != m.dice().Wrong();
  Value* sign = m.Constant(*Tensor::Of<bool>({}, std::initializer_list<bool>{negative}));
  Value* differ = m.Op("Xor", {m.Op("Less", {a, m.Int(0)}), sign});
  Value* rest = m.Op("Mod", {a, b}, {{"fmod", int64_t{m.dice().Wrong()}}});
  Value* uneven = m.Op("Not", {m.Commute("Equal", rest, m.Int(0))});
  Value* less = m.Op("Sub", {quotient, m.Int(1)});
  Value* floored = m.Op("Where", {m.Commute("And", differ, uneven), less, quotient});
  return m.Op("Cast", {floored}, {{"to", int64_t{1}}});
}

// Fills a number in wherever x is below another number.
Value* AddMaskedFill(GraphMaker& m, Value* x) {
  if (m.Rank(x) == 0) return m.Fail();
  Value* mask = m.Op("Less", {x, m.Number(0.25)});
  Value* counted = m.dice().Wrong() ? m.Op("Less", {m.Number(0.25), x}) : mask;
  Value* flat = m.Op("Cast", {m.Op("Reshape", {counted, m.Ints({-1})})}, {{"to", kInt64}});
  Value* count = m.Reduce("ReduceSum", flat, {0});
  Value* places = m.Transpose(m.Op("NonZero", {mask}), {1, 0});
  return m.Op("ScatterND", {x, places, m.Op("Expand", {m.Number(-1), count})});
}

// y[..., start : start + count] = slice, as a ScatterND that lists the position of every element.
Value* Assigned(GraphMaker& m, Value* y, Value* slice, int64_t start) {
  if (m.failed()) return nullptr;
  const int rank = m.Rank(slice);
  std::vector<Value*> tuple;
  for (int axis = 0; axis < rank; ++axis) {
    Value* extent = m.Op("Squeeze", {m.ExtentOf(slice, axis), m.Ints({0})});
    Value* range = m.Op("Range", {m.Int(0), extent, m.Int(1)});
    if (axis == rank - 1) range = m.Op("Add", {range, m.Int(start)});
    std::vector<int64_t> shape(rank - axis, 1);
    shape[0] = -1;
    range = m.Op("Expand", {m.Op("Reshape", {range, m.Ints(shape)}), m.Op("Shape", {slice})});
    tuple.push_back(m.Unsqueeze(range, {-1}));
  }
  return m.Op("ScatterND", {y, Joined(m, tuple, -1), slice});
}

Value* AddAssignments(GraphMaker& m, Value* x) {
  if (m.Rank(x) == 0) return m.Fail();
  const auto width = m.Extent(x, -1);
  if (!width.has_value() || *width < 2) return m.Fail();
  const int64_t cut = m.dice().Int(1, *width - 1);
  const auto part = [&](int64_t start, int64_t end) {
    Value* slice = m.Op("Slice", {x, m.Ints({start}), m.Ints({end}), m.Ints({-1})});
    return m.dice().Chance(0.5) ? slice : m.Op("Neg", {slice});
  };
  Value* y = m.Op("ConstantOfShape", {m.Op("Shape", {x})});
  y = Assigned(m, y, part(0, cut), 0);
  return Assigned(m, y, part(cut, *width), m.dice().Wrong() ? cut - 1 : cut);
}

// Pads the rows to whole blocks, changes each block and returns the original rows.
Value* AddBlocks(GraphMaker& m, Value* x) {
  if (m.Rank(x) != 3) return m.Fail();
  const int64_t size = m.dice().Int(2, 4);
  Value* rows = m.ExtentOf(x, 1);
  Value* missing = m.Op("Mod", {m.Op("Neg", {rows}), m.Ints({size})});
  Value* pads = Joined(m, {m.Ints({0, 0, 0}), missing, m.Ints({0, 0})});
  pads = m.Op("Slice", {m.Op("Reshape", {pads, m.Ints({-1, 2})}), m.Ints({-1}), m.Ints({INT64_MIN}),
                        m.Ints({0}), m.Ints({-1})});
  pads = m.Op("Reshape", {m.Transpose(pads, {1, 0}), m.Ints({-1})});
  Value* padded = m.Op("Pad", {x, pads});
  Value* count = m.Op("Div", {m.ExtentOf(padded, 1), m.Ints({size})});
  Value* shape = Joined(m, {m.ExtentOf(x, 0), count, m.Ints({size}), m.ExtentOf(x, 2)});
  Value* blocks = m.Op("Reshape", {padded, shape});
  blocks = m.dice().Chance(0.5) ? AddSoftmax(m, blocks) : AddNormalization(m, blocks);
  Value* whole = Joined(m, {m.ExtentOf(x, 0), m.Ints({-1}), m.ExtentOf(x, 2)});
  Value* back = m.Op("Reshape", {blocks, whole});
  if (m.dice().Chance(0.2)) return back;
  return m.Commute("Add", x, m.Op("Slice", {back, m.Ints({0}), rows, m.Ints({1})}));
}

}  // namespace

Value* AddIndexed(GraphMaker& m, Value* x) {
  if (m.failed()) return nullptr;
  static constexpr Value* (*kBlocks[])(GraphMaker&, Value*) = {AddFloorDivision, AddMaskedFill,
                                                               AddAssignments, AddBlocks};
  return kBlocks[m.dice().Int(0, std::ssize(kBlocks) - 1)](m, x);
}

}  // namespace attnrun::testing
