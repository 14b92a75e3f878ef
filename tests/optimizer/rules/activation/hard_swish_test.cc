// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kTolerance = 8 * kEpsilon;

Value* Number(GraphBuilder& b, float number) { return b.Constant<float>("n", {}, {number}); }

Value* Input(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", 8}); }

Value* Gate(GraphBuilder& b, Value* x, float shift = 3, float high = 6) {
  Value* sum = b.Op("Add", {x, Number(b, shift)});
  return b.Op("Clip", {sum, Number(b, 0), Number(b, high)});
}

OptimizerTester Tested(const std::function<Value*(GraphBuilder&, Value*)>& write, int opset = 20) {
  return OptimizerTester([&](GraphBuilder& b) { b.Output(write(b, Input(b))); }, {}, opset);
}

void Expect(const OptimizerTester& test, const std::string& ops) {
  EXPECT_EQ(test.Ops(), ops);
  test.ExpectSameResults(kTolerance);
}

TEST(HardSwishTest, FromItsSpellings) {
  Expect(Tested([](GraphBuilder& b, Value* x) {
           return b.Op("Div", {b.Op("Mul", {x, Gate(b, x)}), Number(b, 6)});
         }),
         "HardSwish");
  Expect(Tested([](GraphBuilder& b, Value* x) {
           return b.Op("Mul", {b.Op("Div", {Gate(b, x), Number(b, 6)}), x});
         }),
         "HardSwish");
  Expect(Tested([](GraphBuilder& b, Value* x) {
           Value* gate = b.Op("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
           return b.Op("Mul", {x, gate});
         }),
         "HardSwish");
}

TEST(HardSwishTest, FromAClipWithAttributes) {
  Expect(Tested(
             [](GraphBuilder& b, Value* x) {
               Value* sum = b.Op("Add", {x, Number(b, 3)});
               Value* gate = b.Op("Clip", {sum}, {{"min", 0.0F}, {"max", 6.0F}});
               return b.Op("Mul", {b.Op("Mul", {x, gate}), Number(b, 1.0F / 6)});
             },
             10),
         "HardSwish");
}

TEST(HardSwishTest, TheGateAloneIsAHardSigmoid) {
  Expect(Tested([](GraphBuilder& b, Value* x) { return b.Op("Div", {Gate(b, x), Number(b, 6)}); }),
         "HardSigmoid");
  Expect(Tested([](GraphBuilder& b, Value* x) {
           Value* y = b.Input("y", DataType::kFloat, {"batch", 8});
           return b.Op("Mul", {b.Op("Mul", {Gate(b, x), Number(b, 1.0F / 6)}), y});
         }),
         "HardSigmoid Mul");
}

TEST(HardSwishTest, NotWithOtherNumbers) {
  Expect(Tested([](GraphBuilder& b, Value* x) {
           return b.Op("Div", {b.Op("Mul", {x, Gate(b, x, 2)}), Number(b, 6)});
         }),
         "Add Clip Div Mul");
  Expect(Tested([](GraphBuilder& b, Value* x) {
           return b.Op("Div", {b.Op("Mul", {x, Gate(b, x, 3, 5)}), Number(b, 6)});
         }),
         "Add Clip Div Mul");
  Expect(Tested([](GraphBuilder& b, Value* x) { return b.Op("Mul", {x, Gate(b, x)}); }),
         "Add Clip Mul");
  Expect(
      Tested([](GraphBuilder& b, Value* x) { return b.Op("Mul", {x, b.Op("HardSigmoid", {x})}); }),
      "HardSigmoid Mul");
}

TEST(HardSwishTest, NotOfIntegers) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kInt32, {"batch", 8});
    const auto number = [&](int32_t n) { return b.Constant<int32_t>("n", {}, {n}); };
    Value* gate = b.Op("Clip", {b.Op("Add", {x, number(3)}), number(0), number(6)});
    b.Output(b.Op("Div", {b.Op("Mul", {x, gate}), number(6)}));
  });
  EXPECT_EQ(test.Ops(), "Add Clip Div Mul");
}

TEST(HardSwishTest, AGateThatOthersReadStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Input(b);
    Value* gate = Gate(b, x);
    b.Output(b.Op("Div", {b.Op("Mul", {x, gate}), Number(b, 6)}));
    b.Output(gate);
  });
  EXPECT_EQ(test.Ops(), "Add Clip Div Mul");
  EXPECT_THAT(test.Misses("hard_swish"), ElementsAre(HasSubstr("'Clip' is a graph output")));
}

}  // namespace
}  // namespace attnrun::testing
