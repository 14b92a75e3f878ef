// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two heads of 8 channels.
constexpr int64_t kHeads = 2;
constexpr int64_t kSize = 8;
constexpr double kTolerance = 4 * kEpsilon;

Value* Slice(GraphBuilder& b, Value* x, int64_t start, int64_t end, int64_t step = 1) {
  return b.Op("Slice",
              {x, Vector(b, {start}), Vector(b, {end}), Vector(b, {-1}), Vector(b, {step})});
}

Value* Concat(GraphBuilder& b, Value* first, Value* second) {
  return b.Op("Concat", {first, second}, {{"axis", int64_t{-1}}});
}

Value* Unsqueeze(GraphBuilder& b, Value* x, int64_t axis) {
  return b.Op("Unsqueeze", {x, Vector(b, {axis})});
}

// The angles [batch or 1, seq, pairs] of positions, which are given as floats.
Value* Angles(GraphBuilder& b, int64_t pairs, const char* batch = "batch") {
  Value* positions = b.Input("positions", DataType::kFloat, {batch, "seq", 1});
  std::vector<float> frequencies;
  for (int64_t i = 0; i < pairs; ++i) frequencies.push_back(1 / static_cast<float>(1 + 3 * i));
  return b.Op("Mul", {positions, b.Constant("frequencies", Make<float>({pairs}, frequencies))});
}

struct Tables {
  Value* cos;
  Value* sin;
};

// Tables [batch, 1, seq, size] with each angle in both halves, scaled as for long contexts.
Tables HalvesTables(GraphBuilder& b, int64_t size, int64_t heads_axis = 1) {
  Value* angles = Angles(b, size / 2);
  Value* both = Concat(b, angles, angles);
  const auto table = [&](const char* function) {
    Value* scaled = b.Op("Mul", {b.Op(function, {both}), b.Constant<float>("scale", {}, {1.25F})});
    return Unsqueeze(b, scaled, heads_axis);
  };
  return {table("Cos"), table("Sin")};
}

// x cos + concat(-x2, x1) sin.
Value* RotateHalf(GraphBuilder& b, Value* x, const Tables& tables, int64_t size, bool swapped) {
  Value* negated = b.Op("Neg", {Slice(b, x, size / 2, 1 << 30)});
  Value* turned = Concat(b, negated, Slice(b, x, 0, size / 2));
  Value* first = swapped ? b.Op("Mul", {tables.cos, x}) : b.Op("Mul", {x, tables.cos});
  Value* second = swapped ? b.Op("Mul", {tables.sin, turned}) : b.Op("Mul", {turned, tables.sin});
  return swapped ? b.Op("Add", {second, first}) : b.Op("Add", {first, second});
}

Value* HeadsFirst(GraphBuilder& b, int64_t size = kSize) {
  return b.Input("x", DataType::kFloat, {"batch", kHeads, "seq", size});
}

// Expects this many rotations. Heads after the sequence axis are rotated in place.
void ExpectRotated(OptimizerTester& test, int rotations) {
  EXPECT_EQ(test.Count("RotaryEmbedding") + test.Count("attnrun.RotaryEmbedding"), rotations)
      << test.Ops();
  EXPECT_EQ(test.Count("Neg"), 0) << test.Ops();
  EXPECT_EQ(test.Count("Add"), 0) << test.Ops();
  test.ExpectSameResults(kTolerance);
  test.Dim("batch", 1).Dim("seq", 1).ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, FusesRotateHalf) {
  for (const bool swapped : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(RotateHalf(b, HeadsFirst(b), HalvesTables(b, kSize), kSize, swapped));
    });
    ExpectRotated(test, 1);
  }
}

TEST(RotaryEmbeddingFusionTest, TablesAreSharedByQueriesAndKeys) {
  OptimizerTester test([](GraphBuilder& b) {
    const Tables tables = HalvesTables(b, kSize);
    Value* k = b.Input("k", DataType::kFloat, {"batch", 1, "seq", kSize});
    b.Output(RotateHalf(b, HeadsFirst(b), tables, kSize, false));
    b.Output(RotateHalf(b, k, tables, kSize, false));
  });
  ExpectRotated(test, 2);
  // The cosine and sine of each angle are computed once.
  EXPECT_EQ(test.Count("Cos") + test.Count("Sin"), 2);
  EXPECT_EQ(test.Count("Slice") + test.Count("Concat"), 0);
}

TEST(RotaryEmbeddingFusionTest, TablesMayHaveBatchOne) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* angles = Angles(b, kSize / 2, "");
    Value* both = Concat(b, angles, angles);
    const Tables tables = {Unsqueeze(b, b.Op("Cos", {both}), 1),
                           Unsqueeze(b, b.Op("Sin", {both}), 1)};
    b.Output(RotateHalf(b, HeadsFirst(b), tables, kSize, false));
  });
  test.Feed("positions", Make<float>({1, 3, 1}, {0, 1, 2}));
  EXPECT_EQ(test.Count("RotaryEmbedding"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, ConstantTablesMayHaveTwoAxes) {
  const auto build = [](GraphBuilder& b, float last) {
    const Tensor table = Make<float>({2, 4}, {1, 0.5, 1, 0.5, 0.25, -1, 0.25, last});
    Value* x = b.Input("x", DataType::kFloat, {"batch", kHeads, 2, 4});
    Value* constant = b.Constant("table", table);
    b.Output(RotateHalf(b, x, {constant, constant}, 4, false));
  };
  OptimizerTester test([&](GraphBuilder& b) { build(b, -1); });
  ExpectRotated(test, 1);
  OptimizerTester unequal([&](GraphBuilder& b) { build(b, -2); });
  EXPECT_EQ(unequal.Count("RotaryEmbedding"), 0);
  EXPECT_THAT(unequal.Misses("rotary_embedding"), ElementsAre(HasSubstr("each angle twice")));
}

TEST(RotaryEmbeddingFusionTest, HeadsMayFollowTheSequence) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", kHeads, kSize});
    b.Output(RotateHalf(b, x, HalvesTables(b, kSize, 2), kSize, false));
  });
  ExpectRotated(test, 1);
}

TEST(RotaryEmbeddingFusionTest, OneHeadNeedsNoAxis) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", kSize});
    Value* angles = Angles(b, kSize / 2);
    Value* both = Concat(b, angles, angles);
    b.Output(RotateHalf(b, x, {b.Op("Cos", {both}), b.Op("Sin", {both})}, kSize, false));
  });
  ExpectRotated(test, 1);
}

// Unsqueeze, Expand, Reshape: the spelling of repeat_interleave.
Value* RepeatEach(GraphBuilder& b, Value* x, int64_t pairs) {
  Value* twice = b.Op("Expand", {Unsqueeze(b, x, -1), Vector(b, {1, 1, 1, 2})});
  return b.Op("Reshape", {twice, Vector(b, {0, 0, 2 * pairs})});
}

TEST(RotaryEmbeddingFusionTest, PairsMayBeEvenAndOddChannels) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* angles = Angles(b, kSize / 2);
    Value* cos = Unsqueeze(b, RepeatEach(b, b.Op("Cos", {angles}), kSize / 2), 1);
    Value* sin = Unsqueeze(b, RepeatEach(b, b.Op("Sin", {angles}), kSize / 2), 1);
    Value* x = HeadsFirst(b);
    Value* odd = b.Op("Neg", {Slice(b, x, 1, 1 << 30, 2)});
    Value* turned = Concat(b, Unsqueeze(b, odd, -1), Unsqueeze(b, Slice(b, x, 0, 1 << 30, 2), -1));
    turned = b.Op("Reshape", {turned, Vector(b, {0, 0, -1, kSize})});
    b.Output(b.Op("Add", {b.Op("Mul", {x, cos}), b.Op("Mul", {turned, sin})}));
  });
  ExpectRotated(test, 1);
}

// concat(x1 cos - x2 sin, x2 cos + x1 sin).
Value* RotatePairs(GraphBuilder& b, Value* x, const Tables& tables) {
  std::vector<Value*> x12 =
      b.Ops("Split", 2, {x}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  const auto times = [&](int i, Value* table) { return b.Op("Mul", {x12[i], table}); };
  return Concat(b, b.Op("Sub", {times(0, tables.cos), times(1, tables.sin)}),
                b.Op("Add", {times(0, tables.sin), times(1, tables.cos)}));
}

TEST(RotaryEmbeddingFusionTest, HalvesMayBeRotatedSeparately) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* angles = Angles(b, kSize / 2);
    const Tables tables = {Unsqueeze(b, b.Op("Cos", {angles}), 1),
                           Unsqueeze(b, b.Op("Sin", {angles}), 1)};
    b.Output(RotatePairs(b, HeadsFirst(b), tables));
  });
  ExpectRotated(test, 1);
}

TEST(RotaryEmbeddingFusionTest, TheRestOfTheChannelsIsIncluded) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = HeadsFirst(b);
    Value* rotated = RotateHalf(b, Slice(b, x, 0, 4), HalvesTables(b, 4), 4, false);
    b.Output(Concat(b, rotated, Slice(b, x, 4, 1 << 30)));
  });
  ExpectRotated(test, 1);
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "RotaryEmbedding") continue;
    EXPECT_EQ(node->input(0), test.graph().FindValue("x"));
    EXPECT_EQ(std::get<int64_t>(*node->attribute("rotary_embedding_dim")), 4);
  }
}

TEST(RotaryEmbeddingFusionTest, TheRestInFrontStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = HeadsFirst(b);
    Value* rotated = RotateHalf(b, Slice(b, x, 4, 1 << 30), HalvesTables(b, 4), 4, false);
    b.Output(Concat(b, Slice(b, x, 0, 4), rotated));
  });
  EXPECT_EQ(test.Count("RotaryEmbedding"), 1);
  EXPECT_EQ(test.Count("Concat"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, LeavesTablesThatDifferByHead) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* angles = b.Input("angles", DataType::kFloat, {"batch", kHeads, "seq", kSize / 2});
    Value* both = Concat(b, angles, angles);
    b.Output(
        RotateHalf(b, HeadsFirst(b), {b.Op("Cos", {both}), b.Op("Sin", {both})}, kSize, false));
  });
  EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
  EXPECT_THAT(test.Misses("rotary_embedding"), ElementsAre(HasSubstr("the same for all heads")));
  test.ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, TheSignOnTheOtherHalfNegatesTheAngle) {
  OptimizerTester test([](GraphBuilder& b) {
    const Tables tables = HalvesTables(b, kSize);
    Value* x = HeadsFirst(b);
    Value* turned =
        Concat(b, Slice(b, x, kSize / 2, 1 << 30), b.Op("Neg", {Slice(b, x, 0, kSize / 2)}));
    b.Output(b.Op("Add", {b.Op("Mul", {x, tables.cos}), b.Op("Mul", {turned, tables.sin})}));
  });
  EXPECT_EQ(test.Count("RotaryEmbedding"), 1);
  EXPECT_EQ(test.Count("Neg"), 1);
  EXPECT_EQ(test.Count("Add"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, LeavesSignsOnBothHalves) {
  OptimizerTester test([](GraphBuilder& b) {
    const Tables tables = HalvesTables(b, kSize);
    Value* x = HeadsFirst(b);
    Value* turned = b.Op("Neg", {Slice(b, x, kSize / 2, 1 << 30)});
    turned = Concat(b, turned, b.Op("Neg", {Slice(b, x, 0, kSize / 2)}));
    b.Output(b.Op("Add", {b.Op("Mul", {x, tables.cos}), b.Op("Mul", {turned, tables.sin})}));
  });
  EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, AProductThatOthersReadStays) {
  OptimizerTester test([](GraphBuilder& b) {
    const Tables tables = HalvesTables(b, kSize);
    Value* x = HeadsFirst(b);
    Value* straight = b.Op("Mul", {x, tables.cos});
    Value* turned = Concat(b, b.Op("Neg", {Slice(b, x, 4, 8)}), Slice(b, x, 0, 4));
    b.Output(b.Op("Add", {straight, b.Op("Mul", {turned, tables.sin})}));
    b.Output(b.Op("Abs", {straight}));
  });
  EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
  EXPECT_THAT(test.Misses("rotary_embedding"), ElementsAre(HasSubstr("(Abs)")));
  test.ExpectSameResults(kTolerance);
}

TEST(RotaryEmbeddingFusionTest, PositionsThatBroadcastToTheTableStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", kSize});
    // Every third of the first three positions: one position.
    x = b.Op("Slice", {x, Vector(b, {0}), Vector(b, {3}), Vector(b, {1}), Vector(b, {3})});
    Value* half = b.Input("table", DataType::kFloat, {"seq", kSize / 2});
    Value* table = Concat(b, half, half);
    b.Output(RotateHalf(b, x, {table, table}, kSize, false));
  });
  EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
  test.Dim("seq", 5).ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
