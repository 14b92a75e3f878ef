// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

constexpr double kTolerance = 2 * kEpsilon;

using Positions = std::function<Value*(GraphBuilder&, Value*)>;

Value* Extent(GraphBuilder& b, Value* x) {
  return b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
}
Value* Range(GraphBuilder& b, Value* x, int64_t first) {
  Value* extent = b.Op("Squeeze", {Extent(b, x), Vector(b, {0})});
  return b.Op("Range", {Scalar(b, first), b.Op("Add", {extent, Scalar(b, first)}), Scalar(b, 1)});
}

// Adds rows of a table [8, 2] to x [batch, seq, 2].
OptimizerTester Adding(const Positions& positions) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 2});
    Value* table =
        b.Constant<float>("table", {8, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2});
    b.Output(b.Op("Relu", {b.Op("Add", {b.Op("Gather", {table, positions(b, x)}), x})}));
  });
}

TEST(PositionRowsTest, ConsecutivePositionsBecomeASlice) {
  const std::vector<Positions> spellings = {
      [](GraphBuilder& b, Value* x) { return Range(b, x, 0); },
      [](GraphBuilder& b, Value* x) { return b.Op("Unsqueeze", {Range(b, x, 0), Vector(b, {0})}); },
      [](GraphBuilder& b, Value* x) {
        Value* batch = b.Op("Shape", {x}, {{"end", int64_t{1}}});
        Value* repeats = b.Op("Concat", {batch, Vector(b, {1})}, {{"axis", int64_t{0}}});
        return b.Op("Tile", {b.Op("Unsqueeze", {Range(b, x, 0), Vector(b, {0})}), repeats});
      },
      [](GraphBuilder& b, Value* x) {
        Value* ids = b.Constant<int64_t>("ids", {1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
        return b.Op("Slice", {ids, Vector(b, {0}), Extent(b, x), Vector(b, {1})});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = Adding(spellings[i]);
    EXPECT_EQ(test.Ops(), "Add Relu Shape Slice");
    for (const int64_t seq : {1, 3, 8}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
  }
}

TEST(PositionRowsTest, PositionsMayStartAtANumber) {
  OptimizerTester test =
      Adding([](GraphBuilder& b, Value* x) { return b.Op("Add", {Range(b, x, 0), Scalar(b, 2)}); });
  EXPECT_EQ(test.Count("Gather"), 0);
  for (const int64_t seq : {1, 3, 6}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(PositionRowsTest, OtherPositionsStay) {
  const std::vector<Positions> others = {
      // The last row alone: a slice of it would broadcast if seq were longer, where Gather fails.
      [](GraphBuilder& b, Value* x) { return b.Op("Add", {Range(b, x, 0), Scalar(b, 7)}); },
      // Positions from the end, every second position, one position for all.
      [](GraphBuilder& b, Value* x) { return b.Op("Sub", {Range(b, x, 0), Scalar(b, 3)}); },
      [](GraphBuilder& b, Value* x) { return b.Op("Mul", {Range(b, x, 0), Scalar(b, 2)}); },
      [](GraphBuilder& b, Value* x) { return b.Op("Mul", {Range(b, x, 0), Scalar(b, 0)}); },
      [](GraphBuilder& b, Value*) { return b.Input("ids", DataType::kInt64, {1, "seq"}); }};
  for (size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = Adding(others[i]);
    EXPECT_EQ(test.Count("Slice"), 0);
    test.Dim("seq", 1).ExpectSameResults(kTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
