// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// x plus its positions, counted in floats.
OptimizerTester Counted(float start, float step) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Value* extent = b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    Value* count = b.Op("Squeeze", {extent, Vector(b, {0})});
    Value* limit = b.Op("Cast", {count}, {{"to", int64_t{1}}});
    Value* positions = b.Op("Range", {b.Constant<float>("start", {}, {start}), limit,
                                      b.Constant<float>("step", {}, {step})});
    b.Output(b.Op("Neg", {positions}));
  });
}

TEST(IntegerRangeTest, PositionsAreCountedInIntegers) {
  OptimizerTester test = Counted(0, 1);
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "Range") continue;
    EXPECT_TRUE(IsInteger(node->input(0)->constant()->type()));
  }
  EXPECT_EQ(test.Count("Cast"), 1);
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(0);
  for (const float start : {1.0F, -3.0F}) Counted(start, 2).Dim("seq", 6).ExpectSameResults(0);
}

// Beyond 2^24, floats count otherwise than integers.
TEST(IntegerRangeTest, PartsOfNumbersAndLargeOnesStayFloats) {
  for (OptimizerTester& test :
       std::array{Counted(0.5F, 1), Counted(0, 0.25F), Counted(-33554432, 8388608)}) {
    for (const Node* node : test.graph().nodes()) {
      if (node->op_type() != "Range") continue;
      EXPECT_FALSE(IsInteger(node->input(0)->constant()->type()));
    }
    test.Dim("seq", 5).ExpectSameResults(0);
  }
}

// The first rows of a table, at most `most`, as tf2onnx writes the end of a slice.
OptimizerTester Cut(DataType floats, float most) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    const auto cast = [&](Value* value, DataType type) {
      return b.Op("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
    };
    Value* extent = b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    Value* bound = cast(b.Constant<float>("most", {1}, {most}), floats);
    Value* end = cast(b.Op("Min", {cast(extent, floats), bound}), DataType::kInt64);
    b.Output(b.Op("Slice", {x, Vector(b, {0}), end, Vector(b, {1})}));
  });
}

TEST(IntegerRangeTest, BoundsAreChosenInIntegers) {
  for (const DataType floats : {DataType::kFloat, DataType::kDouble}) {
    OptimizerTester test = Cut(floats, 4);
    EXPECT_EQ(test.Count("Cast"), 0);
    for (const int64_t seq : {0, 3, 5}) test.Dim("seq", seq).ExpectSameResults(0);
  }
}

TEST(IntegerRangeTest, BoundsThatFloatsRoundStay) {
  for (OptimizerTester& test :
       std::array{Cut(DataType::kFloat, 2.5F), Cut(DataType::kFloat16, 4)}) {
    EXPECT_EQ(test.Count("Cast"), 2);
    for (const int64_t seq : {2, 5}) test.Dim("seq", seq).ExpectSameResults(0);
  }
}

}  // namespace
}  // namespace attnrun::testing
