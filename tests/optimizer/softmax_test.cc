#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kTolerance = 16 * kEpsilon;

Value* Reduced(GraphBuilder& b, const std::string& op, Value* x, int64_t axis) {
  return b.Op(op, {x, b.Constant<int64_t>("axes", {1}, {axis})});
}

Value* Exponential(GraphBuilder& b, Value* x, int64_t axis) {
  return b.Op("Exp", {b.Op("Sub", {x, Reduced(b, "ReduceMax", x, axis)})});
}

TEST(SoftmaxFusionTest, EveryAxisAndSpelling) {
  for (const int64_t axis : {-1, 1, 2}) {
    for (const bool reciprocal : {false, true}) {
      OptimizerTester test([&](GraphBuilder& b) {
        Value* e = Exponential(b, b.Input("x", DataType::kFloat, {"batch", 4, 6}), axis);
        Value* sum = Reduced(b, "ReduceSum", e, axis);
        b.Output(reciprocal ? b.Op("Mul", {b.Op("Reciprocal", {sum}), e}) : b.Op("Div", {e, sum}));
      });
      EXPECT_EQ(test.Ops(), "Softmax");
      test.ExpectSameResults(kTolerance);
    }
  }
}

TEST(SoftmaxFusionTest, NotWithoutTheMaximum) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* e = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", 4})});
    b.Output(b.Op("Div", {e, Reduced(b, "ReduceSum", e, -1)}));
  });
  EXPECT_EQ(test.Count("Softmax"), 0);
  EXPECT_THAT(test.Misses("softmax"), ElementsAre(HasSubstr("may overflow")));
}

TEST(SoftmaxFusionTest, NotOverTwoAxes) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* e = Exponential(b, b.Input("x", DataType::kFloat, {"batch", 4, 6}), 1);
    b.Output(b.Op("Div", {e, Reduced(b, "ReduceSum", e, 2)}));
  });
  EXPECT_EQ(test.Count("Softmax"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(SoftmaxFusionTest, ASumThatOthersReadStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* e = Exponential(b, b.Input("x", DataType::kFloat, {"batch", 4}), -1);
    Value* sum = Reduced(b, "ReduceSum", e, -1);
    b.Output(b.Op("Div", {e, sum}));
    b.Output(b.Op("Log", {sum}));
  });
  EXPECT_EQ(test.Count("Softmax"), 0);
  EXPECT_THAT(test.Misses("softmax"), ElementsAre(HasSubstr("(Log)")));
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
