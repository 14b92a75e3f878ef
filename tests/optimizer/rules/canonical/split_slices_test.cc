// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

Value* Input(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", 12}); }
// A slice with a reader, so that it is not a graph output.
void Slice(GraphBuilder& b, Value* x, int64_t start, int64_t end, int64_t axis = 1,
           int64_t step = 1) {
  Value* part = b.Op(
      "Slice", {x, Vector(b, {start}), Vector(b, {end}), Vector(b, {axis}), Vector(b, {step})});
  b.Output(b.Op("Exp", {part}));
}

TEST(SplitSlicesTest, PiecesMayBeInAnyOrderWithGaps) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Input(b);
    Slice(b, x, 8, 1 << 30);
    Slice(b, x, 1, 4, -1);
    Slice(b, x, -8, 6);
  });
  EXPECT_EQ(test.Ops(), "Exp*3 Split");
  test.ExpectSameResults(4 * kEpsilon);
}

TEST(SplitSlicesTest, OtherSlicesStay) {
  OptimizerTester overlapping([](GraphBuilder& b) {
    Value* x = Input(b);
    Slice(b, x, 0, 6);
    Slice(b, x, 5, 12);
  });
  EXPECT_EQ(overlapping.Count("Slice"), 2);
  OptimizerTester stepping([](GraphBuilder& b) {
    Value* x = Input(b);
    Slice(b, x, 0, 12, 1, 2);
    Slice(b, x, 1, 12, 1, 2);
  });
  EXPECT_EQ(stepping.Count("Slice"), 2);
  OptimizerTester of_unknown_extent([](GraphBuilder& b) {
    Value* x = Input(b);
    Slice(b, x, 0, 2, 0);
    Slice(b, x, 2, 3, 0);
  });
  EXPECT_EQ(of_unknown_extent.Count("Slice"), 2);
  of_unknown_extent.ExpectSameResults(4 * kEpsilon);
  // The number is axis 1 plus 2^32; the run refuses it.
  OptimizerTester far([](GraphBuilder& b) {
    constexpr int64_t kFar = (int64_t{1} << 32) + 1;
    Value* x = Input(b);
    Slice(b, x, 0, 6, kFar);
    Slice(b, x, 6, 12, kFar);
  });
  EXPECT_EQ(far.Count("Slice"), 2);
  OptimizerTester alone([](GraphBuilder& b) { Slice(b, Input(b), 0, 6); });
  EXPECT_EQ(alone.Count("Slice"), 1);
}

TEST(SplitSlicesTest, OnePositionIsAPieceIfItKeepsItsAxis) {
  const auto pieces = [](bool keeps_axis) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = Input(b);
      Slice(b, x, 0, 6);
      Value* at =
          keeps_axis ? b.Constant<int64_t>("at", {1}, {-3}) : b.Constant<int64_t>("at", {}, {-3});
      b.Output(b.Op("Exp", {b.Op("Gather", {x, at}, {{"axis", int64_t{1}}})}));
    });
  };
  EXPECT_EQ(pieces(true).Ops(), "Exp*2 Split");
  pieces(true).ExpectSameResults(4 * kEpsilon);
  EXPECT_EQ(pieces(false).Ops(), "Exp*2 Gather Slice");
  pieces(false).ExpectSameResults(4 * kEpsilon);
}

// A packed projection of grouped heads: queries are sliced, key and value are selected.
TEST(SplitSlicesTest, SelectionsOfATransposeBecomeASplit) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 6, 8});
    Value* heads_first = Transposed(b, x, {2, 0, 1, 3});
    for (const int64_t head : {4, 5}) {
      Value* at = b.Constant<int64_t>("at", {1}, {head});
      b.Output(b.Op("Exp", {Transposed(b, b.Op("Gather", {heads_first, at}), {1, 0, 2, 3})}));
    }
  });
  EXPECT_EQ(test.Ops(), "Exp*2 Split Transpose*2");
  test.ExpectSameResults(4 * kEpsilon);
}

TEST(SplitSlicesTest, ASplitWithOneReaderBecomesASlice) {
  const auto split = [](bool first, bool last) {
    return OptimizerTester([=](GraphBuilder& b) {
      const std::vector<Value*> pieces =
          b.Ops("Split", 3, {Input(b)}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}});
      b.Output(b.Op("Exp", {pieces[1]}));
      if (first) b.Output(b.Op("Neg", {pieces[0]}));
      if (last) b.Output(pieces[2]);
    });
  };
  EXPECT_EQ(split(false, false).Ops(), "Exp Slice");
  split(false, false).ExpectSameResults(4 * kEpsilon);
  EXPECT_EQ(split(true, false).Count("Split"), 1);
  EXPECT_EQ(split(false, true).Count("Split"), 1);
}

}  // namespace
}  // namespace attnrun::testing
