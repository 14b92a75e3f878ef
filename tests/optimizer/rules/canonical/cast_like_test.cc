// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

TEST(CastLikeTest, BecomesACastWhereTheTypeIsKnown) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    Value* y = b.Input("y", DataType::kInt32, {"batch", 8});
    b.Output(b.Op("Mul", {b.Op("CastLike", {x, y}), y}));
  });
  EXPECT_EQ(test.Ops(), "Cast Mul");
  test.ExpectSameResults(0);
}

TEST(CastLikeTest, OfAConstantIsFolded) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Op("Relu", {b.Input("x", DataType::kFloat, {"batch", 8})});
    Value* half = b.Constant("half", Make<double>({}, {0.5}));
    b.Output(b.Op("Mul", {x, b.Op("CastLike", {half, x})}));
  });
  EXPECT_EQ(test.Ops(), "Mul Relu");
  test.ExpectSameResults(0);
}

TEST(CastLikeTest, KeepsTheRulesOfTheConversion) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    Value* y = b.Input("y", DataType::kFloat8E4M3FN, {"batch", 8});
    Value* infinite = b.Op("Mul", {x, b.Constant("large", Make<float>({}, {1e9F}))});
    Value* small = b.Op("CastLike", {infinite, y}, {{"saturate", int64_t{0}}});
    b.Output(b.Op("Cast", {small}, {{"to", static_cast<int64_t>(DataType::kFloat)}}));
  });
  EXPECT_EQ(test.Ops(), "Cast*2 Mul");
  test.ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
