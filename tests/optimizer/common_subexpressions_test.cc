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

TEST(CommonSubexpressionsTest, ListsOfNumbersDifferByTheirBits) {
  EXPECT_EQ(TwoUpsamples(1.5F, 1.5000001F).Count("Upsample"), 2);
}

}  // namespace
}  // namespace attnrun::testing
