#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

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

// As x-transformers and gpt-oss write it: -inf where masked, the maximum taken off by hand.
TEST(SoftmaxFusionTest, MaximumBeforeTheOperator) {
  for (const int64_t axis : {-1, 1}) {
    for (const int64_t max_axis : {-1, 1}) {
      OptimizerTester test([&](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 6});
        Value* shifted = b.Op("Sub", {x, Reduced(b, "ReduceMax", x, max_axis)});
        b.Output(b.Op("Softmax", {shifted}, {{"axis", axis}}));
      });
      EXPECT_EQ(test.Ops(), axis == max_axis ? "Softmax" : "ReduceMax Softmax Sub");
      test.ExpectSameResults(kTolerance);
      constexpr float kInf = std::numeric_limits<float>::infinity();
      test.Dim("batch", 1)
          .Feed("x", *Tensor::Of<float>({1, 4, 6}, {-kInf, 1, 2,     -kInf, 3,     4,      //
                                                    5,     6, 1,     2,     0,     -1,     //
                                                    -kInf, 3, -kInf, -kInf, -kInf, -kInf,  //
                                                    -kInf, 0, 1,     2,     3,     -kInf}));
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
