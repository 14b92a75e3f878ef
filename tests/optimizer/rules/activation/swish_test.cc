// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kTolerance = 8 * kEpsilon;

float AlphaOf(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (node->op_type() == "Swish") return std::get<float>(*node->attribute("alpha"));
  }
  return 0;
}

TEST(SwishFusionTest, FusesSilu) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    b.Output(b.Op("Mul", {b.Op("Sigmoid", {x}), x}));
  });
  ASSERT_EQ(test.Ops(), "Swish");
  EXPECT_EQ(AlphaOf(test.graph()), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(SwishFusionTest, FusesQuickGelu) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    Value* scaled = b.Op("Mul", {x, b.Constant<float>("alpha", {}, {1.702F})});
    b.Output(b.Op("Mul", {x, b.Op("Sigmoid", {scaled})}));
  });
  ASSERT_EQ(test.Ops(), "Swish");
  EXPECT_EQ(AlphaOf(test.graph()), 1.702F);
  test.ExpectSameResults(kTolerance);
}

TEST(SwishFusionTest, FusesOnlyTheGateOfAGatedUnit) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* gate = b.Input("gate", DataType::kFloat, {"batch", 8});
    Value* up = b.Input("up", DataType::kFloat, {"batch", 8});
    b.Output(b.Op("Mul", {b.Op("Mul", {gate, b.Op("Sigmoid", {gate})}), up}));
  });
  EXPECT_EQ(test.Ops(), "Mul Swish");
  test.ExpectSameResults(kTolerance);
}

TEST(SwishFusionTest, LeavesAnotherFactor) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* gate = b.Input("gate", DataType::kFloat, {"batch", 8});
    Value* up = b.Input("up", DataType::kFloat, {"batch", 8});
    b.Output(b.Op("Mul", {up, b.Op("Sigmoid", {gate})}));
  });
  EXPECT_EQ(test.Ops(), "Mul Sigmoid");
}

TEST(SwishFusionTest, ASigmoidThatOthersReadStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    Value* sigmoid = b.Op("Sigmoid", {x});
    b.Output(b.Op("Mul", {x, sigmoid}));
    b.Output(sigmoid);
  });
  EXPECT_EQ(test.Ops(), "Mul Sigmoid");
  EXPECT_THAT(test.Misses("swish"), ElementsAre(HasSubstr("'Sigmoid' is a graph output")));
}

}  // namespace
}  // namespace attnrun::testing
