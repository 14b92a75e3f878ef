// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

struct ConditionBuilder {
  GraphBuilder& b;
  Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});

  Value* Int(int64_t number) { return b.Constant<int64_t>("n", {}, {number}); }
  Value* Extent() {
    Value* extent = b.Op("Shape", {x}, {{"start", int64_t{1}}});
    return b.Op("Squeeze", {extent, b.Constant<int64_t>("axes", {1}, {0})});
  }
  Value* NotZero(Value* number) {
    return b.Op("Cast", {number}, {{"to", static_cast<int64_t>(DataType::kBool)}});
  }
  Value* Positions() { return b.Op("Range", {Int(0), Extent(), Int(1)}); }
};

using Choice = std::function<Value*(ConditionBuilder&)>;

OptimizerTester Choosing(const Choice& condition) {
  return OptimizerTester([&](GraphBuilder& b) {
    ConditionBuilder builder{b};
    Value* y = b.Op("Exp", {builder.x});
    b.Output(b.Op("Relu", {b.Op("Where", {condition(builder), builder.x, y})}));
  });
}

TEST(KnownConditionsTest, ComparisonsThatAlwaysHoldAreDropped) {
  const std::vector<Choice> conditions = {
      [](ConditionBuilder& c) { return c.b.Op("GreaterOrEqual", {c.Positions(), c.Int(0)}); },
      [](ConditionBuilder& c) { return c.b.Op("Less", {c.Positions(), c.Extent()}); },
      [](ConditionBuilder& c) { return c.b.Op("Greater", {c.Extent(), c.Positions()}); },
      [](ConditionBuilder& c) {
        Value* later = c.b.Op("Add", {c.Positions(), c.Int(1)});
        return c.b.Op("Less", {c.Positions(), later});
      },
      [](ConditionBuilder& c) {
        Value* never = c.b.Op("Less", {c.Positions(), c.Int(0)});
        return c.b.Op("Not", {never});
      },
      [](ConditionBuilder& c) {
        Value* unknown = c.b.Input("condition", DataType::kBool, {"seq"});
        Value* always = c.b.Op("GreaterOrEqual", {c.Positions(), c.Int(-3)});
        return c.b.Op("Or", {unknown, always});
      },
      // SEW-D masks what a mask of ones leaves unmasked, which is nothing.
      [](ConditionBuilder& c) {
        Value* ones = c.b.Op("ConstantOfShape", {c.b.Op("Shape", {c.x})},
                             {{"value", Make<int64_t>({1}, {1})}});
        return c.b.Op("Not", {c.NotZero(c.b.Op("Sub", {c.Int(1), ones}))});
      }};
  for (size_t i = 0; i < conditions.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = Choosing(conditions[i]);
    EXPECT_EQ(test.Ops(), "Relu");
    for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(kEpsilon);
  }
}

// As exporters of audio models write it: (n - 3) / 2 + 1 might be negative, but it is the extent of
// a convolution's output.
TEST(KnownConditionsTest, PositionsOfWindowsAreNotNegative) {
  const auto build = [](bool convolved) {
    return OptimizerTester([=](GraphBuilder& b) {
      ConditionBuilder c{b};
      Value* count = b.Op("Div", {b.Op("Sub", {c.Extent(), c.Int(3)}), c.Int(2)});
      count = b.Op("Add", {count, c.Int(1)});
      Value* positions = b.Op("Range", {c.Int(0), count, c.Int(1)});
      Value* y = b.Op("Unsqueeze", {c.x, b.Constant<int64_t>("axes", {1}, {1})});
      const AttributeMap strides = {{"strides", std::vector<int64_t>{2}}};
      if (convolved) {
        y = b.Op("Conv", {y, b.Constant<float>("w", {1, 1, 3}, {1, 2, 3})}, strides);
      }
      Value* open = b.Op("GreaterOrEqual", {positions, c.Int(0)});
      b.Output(b.Op("Where", {open, y, b.Constant<float>("closed", {}, {7})}));
    });
  };
  OptimizerTester convolved = build(true);
  EXPECT_EQ(convolved.Ops(), "Conv Unsqueeze");
  for (const int64_t seq : {3, 4, 9}) convolved.Dim("seq", seq).ExpectSameResults(8 * kEpsilon);
  EXPECT_EQ(build(false).Count("Where"), 1);
}

// Exporters write Where(extent == -1, 1, extent) to keep an axis when they expand others.
TEST(KnownConditionsTest, TheExtentOfAConvolutionIsNotMinusOne) {
  const auto build = [](bool convolved) {
    return OptimizerTester([=](GraphBuilder& b) {
      ConditionBuilder c{b};
      Value* y = b.Op("Unsqueeze", {c.x, b.Constant<int64_t>("axes", {1}, {1})});
      const AttributeMap strides = {{"strides", std::vector<int64_t>{2}}};
      if (convolved) {
        y = b.Op("Conv", {y, b.Constant<float>("w", {1, 1, 3}, {1, 2, 3})}, strides);
      }
      Value* count = b.Op("Div", {b.Op("Sub", {c.Extent(), c.Int(3)}), c.Int(2)});
      count = b.Op("Add", {count, c.Int(1)});
      Value* same = b.Op("Equal", {count, c.Int(-1)});
      b.Output(b.Op("Mul", {y, b.Op("Cast", {b.Op("Where", {same, c.Int(1), c.Int(2)})},
                                    {{"to", static_cast<int64_t>(DataType::kFloat)}})}));
    });
  };
  OptimizerTester convolved = build(true);
  EXPECT_EQ(convolved.Ops(), "Conv Unsqueeze");
  for (const int64_t seq : {3, 4, 9}) convolved.Dim("seq", seq).ExpectSameResults(16 * kEpsilon);
  EXPECT_EQ(build(false).Count("Equal"), 1);
}

TEST(KnownConditionsTest, ComparisonsThatDependOnTheRunStay) {
  const std::vector<Choice> conditions = {
      [](ConditionBuilder& c) { return c.b.Op("Greater", {c.Positions(), c.Int(0)}); },
      [](ConditionBuilder& c) { return c.b.Op("Less", {c.Positions(), c.Int(4)}); },
      // True for one position, but not for two.
      [](ConditionBuilder& c) {
        Value* before = c.b.Op("Sub", {c.Extent(), c.Int(1)});
        return c.b.Op("Less", {c.Positions(), before});
      },
      // An extent may be 0.
      [](ConditionBuilder& c) { return c.b.Op("Greater", {c.Extent(), c.Int(0)}); },
      [](ConditionBuilder& c) {
        Value* given = c.b.Input("given", DataType::kInt64, {"seq"});
        return c.b.Op("GreaterOrEqual", {given, c.Int(0)});
      },
      [](ConditionBuilder& c) {
        Value* given = c.b.Input("given", DataType::kInt64, {"seq"});
        return c.NotZero(c.b.Op("Sub", {c.Int(1), given}));
      }};
  for (size_t i = 0; i < conditions.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = Choosing(conditions[i]);
    EXPECT_EQ(test.Count("Where"), 1);
    for (const int64_t seq : {1, 5}) test.Dim("seq", seq).ExpectSameResults(4 * kEpsilon);
  }
}

TEST(KnownConditionsTest, AConditionThatBroadcastsStays) {
  OptimizerTester test([](GraphBuilder& b) {
    ConditionBuilder c{b};
    Value* row = b.Input("row", DataType::kBool, {1, "seq"});
    Value* column = b.Input("column", DataType::kInt64, {"batch", 1});
    Value* always = b.Op("Equal", {b.Op("Sub", {column, column}), c.Int(0)});
    b.Output(b.Op("Not", {b.Op("And", {row, always})}));
    b.Output(c.x);
  });
  EXPECT_EQ(test.Count("And"), 1);
  test.ExpectSameResults(0);
}

TEST(KnownConditionsTest, AndWithTrueIsTheOtherOperand) {
  OptimizerTester test([](GraphBuilder& b) {
    ConditionBuilder c{b};
    Value* row = b.Input("row", DataType::kBool, {"seq"});
    Value* always = b.Op("GreaterOrEqual", {c.Positions(), c.Int(0)});
    b.Output(b.Op("Not", {b.Op("And", {always, row})}));
  });
  EXPECT_EQ(test.Ops(), "Not");
  test.ExpectSameResults(0);
}

// nan_to_num as both exporters write it, of values that may be infinite and of values that cannot
// be.
TEST(KnownConditionsTest, WeightsAreNeverInfinite) {
  for (const bool wide : {false, true}) {
    for (const char* op : {"Softmax", "Exp"}) {
      SCOPED_TRACE(op);
      OptimizerTester test([&](GraphBuilder& b) {
        Value* y = b.Op(op, {b.Input("x", DataType::kFloat, {"batch", 4})});
        Value* zero = b.Constant<float>("zero", {}, {0});
        y = b.Op("Where", {b.Op("IsNaN", {y}), zero, y});
        for (const char* compare : {"Greater", "Less"}) {
          Value* wider = wide ? b.Op("Cast", {y}, {{"to", int64_t{11}}}) : y;
          Value* infinite = b.Op("And", {b.Op("IsInf", {wider}), b.Op(compare, {y, zero})});
          y = b.Op("Where", {infinite, b.Constant<float>("largest", {}, {3.4e38F}), y});
        }
        b.Output(y);
      });
      EXPECT_EQ(test.Count("Where"), std::string(op) == "Softmax" ? 1 : 3);
      const float infinity = std::numeric_limits<float>::infinity();
      const Tensor rows = Make<float>(
          {3, 4}, {1, 2, 3, 4, 200, 1, -infinity, 0, -infinity, -infinity, -infinity, -infinity});
      test.Dim("batch", 3).Feed("x", rows).ExpectSameResults(16 * kEpsilon);
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
