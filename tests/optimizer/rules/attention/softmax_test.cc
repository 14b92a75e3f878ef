// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

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

TEST(SoftmaxFusionTest, FusesEveryAxisAndSpelling) {
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

// As x-transformers and gpt-oss write it: -inf for masked scores, and an explicit subtraction of
// the maximum.
TEST(SoftmaxFusionTest, DropsTheMaximumBeforeTheOperator) {
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

// The sum neither overflows nor becomes 0 here, also if all elements of a row but one are -inf.
TEST(SoftmaxFusionTest, FusesWithoutTheMaximum) {
  for (const int64_t axis : {-1, 1}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* e = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", 2, 3})});
      b.Output(b.Op("Div", {e, Reduced(b, "ReduceSum", e, axis)}));
    });
    EXPECT_EQ(test.Ops(), "Softmax");
    test.ExpectSameResults(kTolerance);
    constexpr float kInf = std::numeric_limits<float>::infinity();
    test.Dim("batch", 1).Feed("x", *Tensor::Of<float>({1, 2, 3}, {-kInf, 80, -kInf, 1, -70, 3}));
    test.ExpectSameResults(kTolerance);
  }
}

TEST(SoftmaxFusionTest, FusesSpellingsWithLogarithms) {
  using LogSumExp = std::function<Value*(GraphBuilder&, Value*, int64_t)>;
  const std::vector<LogSumExp> spellings = {
      [](GraphBuilder& b, Value* x, int64_t axis) {
        return Reduced(b, "ReduceLogSumExp", x, axis);
      },
      [](GraphBuilder& b, Value* x, int64_t axis) {
        return Reduced(b, "ReduceLogSum", b.Op("Exp", {x}), axis);
      },
      [](GraphBuilder& b, Value* x, int64_t axis) {
        return b.Op("Log", {Reduced(b, "ReduceSum", b.Op("Exp", {x}), axis)});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    for (const int64_t axis : {-1, 1}) {
      SCOPED_TRACE(i);
      OptimizerTester test([&](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 6});
        b.Output(b.Op("Exp", {b.Op("Sub", {x, spellings[i](b, x, axis)})}));
      });
      EXPECT_EQ(test.Ops(), "Softmax");
      test.ExpectSameResults(kTolerance);
    }
  }
}

TEST(SoftmaxFusionTest, FusesTheExponentialOfLogSoftmax) {
  for (const int opset : {11, 13}) {
    for (const int64_t axis : {1, 2}) {
      OptimizerTester test(
          [&](GraphBuilder& b) {
            Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 6});
            b.Output(b.Op("Exp", {b.Op("LogSoftmax", {x}, {{"axis", axis}})}));
          },
          {}, opset);
      // Before opset 13, axis 1 includes all later axes.
      EXPECT_EQ(test.Ops(), opset < 13 && axis == 1 ? "Exp LogSoftmax" : "Softmax");
      test.ExpectSameResults(kTolerance);
    }
  }
}

// The last axis but one of an input of unknown rank is not its last.
TEST(SoftmaxFusionTest, AnAxisCountedFromAnUnknownEndStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* shape = b.Input("shape", DataType::kInt64, {"rank"});
    Value* x = b.Op("Reshape", {b.Input("x", DataType::kFloat, {24}), shape});
    b.Output(b.Op("Exp", {b.Op("LogSoftmax", {x}, {{"axis", int64_t{-2}}})}));
  });
  EXPECT_EQ(test.Ops(), "Exp LogSoftmax Reshape");
}

TEST(SoftmaxFusionTest, ALogarithmOfAnotherInputStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
    Value* other = b.Op("Neg", {x});
    b.Output(b.Op("Exp", {b.Op("Sub", {x, Reduced(b, "ReduceLogSumExp", other, -1)})}));
  });
  EXPECT_EQ(test.Count("Softmax"), 0);
  test.ExpectSameResults(kTolerance);
}

// The division by the sum follows the product with the values.
TEST(SoftmaxFusionTest, FusesADivisionAfterTheValues) {
  for (const int64_t axis : {-1, 1}) {
    for (const bool shifted : {false, true}) {
      OptimizerTester test([&](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 4});
        Value* v = b.Input("v", DataType::kFloat, {"batch", 4, 4});
        Value* e = shifted ? Exponential(b, x, axis) : b.Op("Exp", {x});
        b.Output(b.Op("Div", {b.Op("MatMul", {e, v}), Reduced(b, "ReduceSum", e, axis)}));
      });
      // Sums over the rows are not the weights of the product.
      EXPECT_EQ(test.Count("Softmax"), axis == -1 ? 1 : 0);
      test.ExpectSameResults(8 * kTolerance);
    }
  }
}

TEST(SoftmaxFusionTest, OtherSumsAreReported) {
  OptimizerTester bounded([](GraphBuilder& b) {
    Value* e = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", 4})});
    Value* least = b.Constant<float>("least", {}, {1e-3F});
    b.Output(b.Op("Div", {e, b.Op("Clip", {Reduced(b, "ReduceSum", e, -1), least})}));
  });
  EXPECT_EQ(bounded.Count("Softmax"), 0);
  EXPECT_THAT(bounded.Misses("softmax"), ElementsAre(HasSubstr("(Clip)")));
  OptimizerTester masked([](GraphBuilder& b) {
    Value* e = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", 4})});
    Value* open = b.Op("Mul", {e, b.Input("mask", DataType::kFloat, {"batch", 4})});
    b.Output(b.Op("Div", {open, Reduced(b, "ReduceSum", open, -1)}));
  });
  EXPECT_EQ(masked.Count("Softmax"), 0);
  EXPECT_THAT(masked.Misses("softmax"), ElementsAre(HasSubstr("(Mul)")));
}

TEST(SoftmaxFusionTest, TheMaximumOfAnotherAxisStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* e = Exponential(b, b.Input("x", DataType::kFloat, {"batch", 4, 6}), 1);
    b.Output(b.Op("Div", {e, Reduced(b, "ReduceSum", e, 2)}));
  });
  EXPECT_EQ(test.Ops(), "ReduceMax Softmax Sub");
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
