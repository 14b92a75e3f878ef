#include <gtest/gtest.h>

#include <vector>

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

TEST(CommonSubexpressionsTest, ListsOfNumbersDifferByTheirBits) {
  EXPECT_EQ(TwoUpsamples(1.5F, 1.5000001F).Count("Upsample"), 2);
}

}  // namespace
}  // namespace attnrun::testing
