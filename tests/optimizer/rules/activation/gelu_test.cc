// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The rounding of the constants, magnified by the polynomial of arguments up to 5.
constexpr double kTolerance = 64 * kEpsilon;

Value* Number(GraphBuilder& b, double number) {
  return b.Constant<float>("number", {}, {static_cast<float>(number)});
}

using Formula = std::function<Value*(GraphBuilder&, Value*)>;

OptimizerTester Tested(const Formula& formula) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* x = b.Op("Relu", {b.Op("Neg", {b.Input("x", DataType::kFloat, {"batch", 32})})});
    b.Output(formula(b, x));
  });
}

void ExpectGelu(const Formula& formula) {
  const OptimizerTester test = Tested(formula);
  EXPECT_EQ(test.Ops(), "Gelu Neg Relu");
  test.ExpectSameResults(kTolerance);
}

Value* OnePlus(GraphBuilder& b, Value* x) { return b.Op("Add", {Number(b, 1), x}); }

TEST(GeluFusionTest, FusesErfInEveryAssociation) {
  const auto gate = [](GraphBuilder& b, Value* x) {
    return OnePlus(b, b.Op("Erf", {b.Op("Div", {x, Number(b, std::numbers::sqrt2)})}));
  };
  // (x g) 0.5, (0.5 x) g, x (0.5 g), g (x / 2).
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    return b.Op("Mul", {b.Op("Mul", {x, gate(b, x)}), Number(b, 0.5)});
  });
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    return b.Op("Mul", {b.Op("Mul", {Number(b, 0.5), x}), gate(b, x)});
  });
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    return b.Op("Mul", {x, b.Op("Mul", {Number(b, 0.5), gate(b, x)})});
  });
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    return b.Op("Mul", {gate(b, x), b.Op("Div", {x, Number(b, 2)})});
  });
}

// 0.5 x erfc(-x / sqrt 2), as TensorFlow and JAX compute it: erfc(u) is 1 - erf(u).
TEST(GeluFusionTest, FusesErfOfTheOppositeNumber) {
  const auto gelu = [](double sign) {
    return [sign](GraphBuilder& b, Value* x) {
      Value* argument = b.Op("Mul", {b.Op("Neg", {x}), Number(b, sign / std::numbers::sqrt2)});
      Value* erfc = b.Op("Sub", {Number(b, 1), b.Op("Erf", {argument})});
      return b.Op("Mul", {b.Op("Mul", {Number(b, 0.5), x}), erfc});
    };
  };
  ExpectGelu(gelu(1));
  // x (1 - erf(x / sqrt 2)) is another function.
  const OptimizerTester other = Tested(gelu(-1));
  EXPECT_EQ(other.Count("Gelu"), 0);
  other.ExpectSameResults(kTolerance);
}

TEST(GeluFusionTest, FusesErfWithTheHalfMovedIntoTheSum) {
  ExpectGelu([](GraphBuilder& b, Value* x) {
    Value* erf = b.Op("Erf", {b.Op("Mul", {Number(b, 1 / std::numbers::sqrt2), x})});
    Value* half = b.Op("Mul", {erf, Number(b, 0.5)});
    return b.Op("Mul", {b.Op("Add", {half, Number(b, 0.5)}), x});
  });
}

Value* TanhGelu(GraphBuilder& b, Value* x, Value* argument) {
  Value* gate = OnePlus(b, b.Op("Tanh", {argument}));
  return b.Op("Mul", {b.Op("Mul", {x, Number(b, 0.5)}), gate});
}

TEST(GeluFusionTest, FusesTanhInEverySpelling) {
  const double root = std::sqrt(2 / std::numbers::pi);
  const auto cube = [](GraphBuilder& b, Value* x) { return b.Op("Mul", {x, b.Op("Mul", {x, x})}); };
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    Value* cubic = b.Op("Mul", {b.Op("Pow", {x, Number(b, 3)}), Number(b, 0.044715)});
    return TanhGelu(b, x, b.Op("Mul", {b.Op("Add", {x, cubic}), Number(b, root)}));
  });
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    Value* cubic = b.Op("Mul", {Number(b, 0.044715), cube(b, x)});
    return TanhGelu(b, x, b.Op("Mul", {Number(b, root), b.Op("Add", {cubic, x})}));
  });
  ExpectGelu([&](GraphBuilder& b, Value* x) {
    Value* square = b.Op("Mul", {b.Op("Pow", {x, Number(b, 2)}), Number(b, 0.044715)});
    Value* scaled = b.Op("Mul", {x, Number(b, root)});
    return TanhGelu(b, x, b.Op("Mul", {scaled, OnePlus(b, square)}));
  });
  const OptimizerTester test = Tested([&](GraphBuilder& b, Value* x) {
    Value* cubic = b.Op("Mul", {cube(b, x), Number(b, root * 0.044715)});
    return TanhGelu(b, x, b.Op("Add", {b.Op("Mul", {x, Number(b, root)}), cubic}));
  });
  ASSERT_EQ(test.Ops(), "Gelu Neg Relu");
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "Gelu") continue;
    ASSERT_NE(node->attribute("approximate"), nullptr);
    EXPECT_EQ(std::get<std::string>(*node->attribute("approximate")), "tanh");
  }
  test.ExpectSameResults(kTolerance);
}

TEST(GeluFusionTest, FusesHalfPrecisionConstants) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto half = [&](float number) {
      return b.Constant("number", Converted(Make<float>({}, {number}), DataType::kFloat16));
    };
    Value* x = b.Input("x", DataType::kFloat16, {"batch", 32});
    Value* erf = b.Op("Erf", {b.Op("Div", {x, half(1.41421356F)})});
    b.Output(b.Op("Mul", {b.Op("Mul", {x, b.Op("Add", {erf, half(1)})}), half(0.5)}));
  });
  EXPECT_EQ(test.Ops(), "Gelu");
  test.ExpectSameResults(8 * Epsilon(DataType::kFloat16));
}

TEST(GeluFusionTest, ALaterFactorOfOneHalfStays) {
  const OptimizerTester test = Tested([](GraphBuilder& b, Value* x) {
    Value* erf = b.Op("Erf", {b.Op("Div", {x, Number(b, std::numbers::sqrt2)})});
    Value* gelu = b.Op("Mul", {b.Op("Mul", {x, Number(b, 0.5)}), OnePlus(b, erf)});
    return b.Op("Mul", {gelu, Number(b, 0.5)});
  });
  EXPECT_EQ(test.Ops(), "Gelu Mul Neg Relu");
  test.ExpectSameResults(kTolerance);
}

TEST(GeluFusionTest, LeavesOtherNumbers) {
  for (const double divisor : {1.5, 1.4142}) {
    const OptimizerTester test = Tested([&](GraphBuilder& b, Value* x) {
      Value* erf = b.Op("Erf", {b.Op("Div", {x, Number(b, divisor)})});
      return b.Op("Mul", {b.Op("Mul", {x, OnePlus(b, erf)}), Number(b, 0.5)});
    });
    EXPECT_EQ(test.Count("Gelu"), 0);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(GeluFusionTest, LeavesAnotherFactor) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    Value* other = b.Input("other", DataType::kFloat, {"batch", 8});
    Value* erf = b.Op("Erf", {b.Op("Div", {x, Number(b, std::numbers::sqrt2)})});
    b.Output(b.Op("Mul", {b.Op("Mul", {other, OnePlus(b, erf)}), Number(b, 0.5)}));
  });
  EXPECT_EQ(test.Count("Gelu"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(GeluFusionTest, AGateThatOthersReadStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    Value* gate = OnePlus(b, b.Op("Erf", {b.Op("Div", {x, Number(b, std::numbers::sqrt2)})}));
    b.Output(b.Op("Mul", {b.Op("Mul", {x, gate}), Number(b, 0.5)}));
    b.Output(b.Op("Abs", {gate}));
  });
  EXPECT_EQ(test.Count("Gelu"), 0);
  EXPECT_THAT(test.Misses("gelu"), ElementsAre(HasSubstr("(Abs)")));
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
