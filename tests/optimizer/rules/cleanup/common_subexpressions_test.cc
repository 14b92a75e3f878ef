// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

OptimizerTester TwoUpsamples(float scale, float other) {
  return OptimizerTester(
      [&](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {1, 1, 4, 4});
        for (const float s : {scale, other}) {
          b.Output(b.Op("Upsample", {x}, {{"scales", std::vector<float>{1, 1, s, 1}}}));
        }
      },
      {}, /*opset=*/8);
}

TEST(CommonSubexpressionsTest, EqualNodesBecomeOne) {
  EXPECT_EQ(TwoUpsamples(1.5F, 1.5F).Count("Upsample"), 1);
}

TEST(CommonSubexpressionsTest, SumsInEitherOrderAreEqual) {
  for (const char* op : {"Add", "Sub"}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {2, 3});
      Value* y = b.Input("y", DataType::kFloat, {2, 3});
      b.Output(b.Op(op, {x, y})).Output(b.Op(op, {y, x}));
    });
    EXPECT_EQ(test.Count(op), *op == 'A' ? 1 : 2);
    test.ExpectSameResults(0);
  }
}

TEST(CommonSubexpressionsTest, NodesOfDifferentOpsetVersionsMayBeEqual) {
  const OptimizerTester slices(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {2, 8});
        Value* sizes = b.Constant<int64_t>("sizes", {2}, {3, 5});
        const std::vector<Value*> parts = b.Ops("Split", 2, {x, sizes}, {{"axis", int64_t{1}}});
        b.Output(b.Op("Exp", {parts[0]}));
        b.Output(b.Op("Neg", {Sliced(b, x, 0, 3, 1)}));
      },
      {}, /*opset=*/17);
  EXPECT_EQ(slices.Ops(), "Exp Neg Slice");
  slices.ExpectSameResults(4 * kEpsilon);
  const OptimizerTester transposes(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {2, 3, 4});
        b.Output(b.Op("Exp", {Transposed(b, Transposed(b, x, {2, 0, 1}), {0, 2, 1})}));
        b.Output(b.Op("Neg", {Transposed(b, x, {2, 1, 0})}));
      },
      {}, /*opset=*/17);
  EXPECT_EQ(transposes.Ops(), "Exp Neg Transpose");
  transposes.ExpectSameResults(4 * kEpsilon);
}

TEST(CommonSubexpressionsTest, ListsOfNumbersAreComparedBitByBit) {
  EXPECT_EQ(TwoUpsamples(1.5F, 1.5000001F).Count("Upsample"), 2);
}

}  // namespace
}  // namespace attnrun::testing
