// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/elements.h"
#include "fuzz/blocks.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// A random axis of a value of rank 1 or more.
int64_t SomeAxis(GraphMaker& m, const Value* x) { return m.dice().Int(0, m.Rank(x) - 1); }

Value* AddTranspose(GraphMaker& m, Value* x) {
  std::vector<int64_t> permutation(m.Rank(x));
  std::iota(permutation.begin(), permutation.end(), 0);
  if (m.dice().Chance(0.5)) {
    std::shuffle(permutation.begin(), permutation.end(), m.dice().generator());
  } else if (permutation.size() > 1) {
    std::swap(permutation.back(), permutation[permutation.size() - 2]);
  }
  return m.Op("Transpose", {x}, {{"perm", permutation}});
}

// Reshapes by splitting one axis or merging two; 0 copies the other extents.
Value* AddReshape(GraphMaker& m, Value* x) {
  std::vector<int64_t> shape(m.Rank(x), 0);
  const int64_t axis = SomeAxis(m, x);
  const auto extent = m.Extent(x, axis);
  if (extent.has_value() && m.dice().Chance(0.6)) {
    const int64_t part = m.dice().Int(1, std::max<int64_t>(1, *extent));
    if (part == 0 || *extent % part != 0) return m.Fail();
    shape[axis] = part;
    shape.insert(shape.begin() + axis, m.dice().Chance(0.5) ? -1 : *extent / part);
    // A 0 copies the extent at the same position of the input.
    for (size_t i = axis + 2; i < shape.size(); ++i) {
      const auto rest = m.Extent(x, static_cast<int64_t>(i) - 1);
      if (!rest.has_value()) return m.Fail();
      shape[i] = *rest;
    }
  } else if (axis + 1 < m.Rank(x)) {
    shape.erase(shape.begin() + axis);
    shape[axis] = -1;
    for (size_t i = axis + 1; i < shape.size(); ++i) {
      const auto rest = m.Extent(x, static_cast<int64_t>(i) + 1);
      if (!rest.has_value()) return m.Fail();
      shape[i] = *rest;
    }
  }
  return m.Op("Reshape", {x, m.Ints(shape)});
}

Value* AddSlice(GraphMaker& m, Value* x) {
  const int64_t axis = SomeAxis(m, x);
  const int64_t start = m.dice().Int(-3, 3);
  const int64_t end = m.dice().Of<int64_t>({start + 1, start + 2, 1000, -1, 3, INT64_MAX});
  std::vector<Value*> inputs = {x, m.Ints({start}), m.Ints({end}), m.Ints({axis})};
  if (m.dice().Chance(0.4)) inputs.push_back(m.Ints({m.dice().Of<int64_t>({1, 2, 3, -1})}));
  return m.Op("Slice", inputs);
}

Value* AddSplit(GraphMaker& m, Value* x) {
  const int64_t axis = SomeAxis(m, x);
  const auto extent = m.Extent(x, axis);
  if (!extent.has_value() || *extent < 1) return m.Fail();
  std::vector<int64_t> sizes;
  for (int64_t left = *extent; left > 0; left -= sizes.back()) {
    sizes.push_back(sizes.size() == 2 ? left : m.dice().Int(1, left));
  }
  const auto parts = static_cast<int64_t>(sizes.size());
  std::vector<Value*> pieces;
  if (m.opset() >= 18 && m.dice().Chance(0.5)) {
    pieces = m.Ops("Split", static_cast<int>(parts), {x}, {{"axis", axis}, {"num_outputs", parts}});
  } else {
    pieces = m.Ops("Split", static_cast<int>(parts), {x, m.Ints(sizes)}, {{"axis", axis}});
  }
  for (Value* piece : pieces) m.Keep(piece);
  if (m.dice().Chance(0.2)) return m.Op("Concat", pieces, {{"axis", axis}});
  return m.dice().Pick(pieces);
}

Value* AddGather(GraphMaker& m, Value* x) {
  const int64_t axis = SomeAxis(m, x);
  if (m.dice().Chance(0.5)) {
    return m.Op("Gather", {x, m.Int(m.dice().Int(-1, 1))}, {{"axis", axis}});
  }
  std::vector<int64_t> indices(m.dice().Int(0, 4));
  for (int64_t& index : indices) index = m.dice().Int(-2, 2);
  if (m.dice().Chance(0.5)) std::ranges::sort(indices);
  return m.Op("Gather", {x, m.Ints(indices)}, {{"axis", axis}});
}

Value* AddConcat(GraphMaker& m, Value* x) {
  Value* y = m.dice().Chance(0.3) ? x : m.Any([&](const Value* value) {
    return m.TypeOf(value) == m.TypeOf(x) && m.Rank(value) == m.Rank(x);
  });
  return m.Op("Concat", {x, y}, {{"axis", m.Axis(SomeAxis(m, x), m.Rank(x))}});
}

Value* AddRepeat(GraphMaker& m, Value* x) {
  if (m.dice().Chance(0.4)) {
    std::vector<int64_t> repeats(m.Rank(x), 1);
    repeats[SomeAxis(m, x)] = m.dice().Int(0, 3);
    return m.Op("Tile", {x, m.Ints(repeats)});
  }
  const int64_t axis = m.dice().Int(0, m.Rank(x));
  std::vector<int64_t> shape(m.Rank(x) + 1, 1);
  shape[axis] = m.dice().Int(1, 3);
  Value* repeated = m.Op("Expand", {m.Unsqueeze(x, {axis}), m.Ints(shape)});
  if (m.dice().Chance(0.4) || m.failed()) return repeated;
  std::vector<Value*> extents;
  for (int64_t i = 0; i < m.Rank(x); ++i) extents.push_back(m.ExtentOf(x, i));
  extents[std::min<size_t>(axis, extents.size() - 1)] = m.Ints({-1});
  return m.Op("Reshape", {repeated, m.Op("Concat", extents, {{"axis", int64_t{0}}})});
}

Value* AddSqueeze(GraphMaker& m, Value* x) {
  for (int64_t axis = 0; axis < m.Rank(x); ++axis) {
    if (m.Extent(x, axis) == 1) return m.Op("Squeeze", {x, m.Ints({axis})});
  }
  return m.Unsqueeze(x, {m.dice().Int(-1, m.Rank(x))});
}

}  // namespace

Value* AddDynamicReshape(GraphMaker& m, Value* x) {
  if (m.failed() || m.Rank(x) < 2) return m.Fail();
  // Merges two neighboring axes; every other extent is read from the value.
  const int64_t merged = m.dice().Int(0, m.Rank(x) - 2);
  std::vector<Value*> extents;
  for (int64_t i = 0; i < m.Rank(x); ++i) {
    if (i == merged + 1) continue;
    Value* extent = m.ExtentOf(x, i);
    if (i == merged) {
      extent = m.dice().Chance(0.5) ? m.Ints({-1}) : m.Commute("Mul", extent, m.ExtentOf(x, i + 1));
    }
    extents.push_back(extent);
  }
  Value* flat = m.Op("Reshape", {x, m.Op("Concat", extents, {{"axis", int64_t{0}}})});
  if (m.dice().Chance(0.5)) return flat;
  Value* shape = m.dice().Chance(0.7) ? x : flat;
  return m.Op("Reshape",
              {m.dice().Chance(0.5) ? flat : AddActivation(m, flat), m.Op("Shape", {shape})});
}

Value* AddView(GraphMaker& m, Value* x) {
  if (m.failed()) return nullptr;
  if (m.Rank(x) == 0) return m.Unsqueeze(x, {0});
  static constexpr Value* (*kViews[])(GraphMaker&, Value*) = {
      AddTranspose, AddTranspose, AddReshape, AddReshape, AddSlice,
      AddSplit,     AddGather,    AddConcat,  AddRepeat,  AddSqueeze};
  return kViews[m.dice().Int(0, std::ssize(kViews) - 1)](m, x);
}

}  // namespace attnrun::testing
