// SPDX-License-Identifier: Apache-2.0
#include "execution/final_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "execution/product_precisions.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The operators of the nodes that are final.
std::multiset<std::string> FinalOps(const PlanTester::Build& build) {
  GraphBuilder builder;
  build(builder);
  const std::unique_ptr<Graph> graph = builder.Build().value();
  const std::vector<Node*> order = graph->TopologicalOrder().value();
  std::multiset<std::string> ops;
  for (const Node* node : exec::FinalNodes(*graph, order)) ops.insert(node->op_type());
  return ops;
}

Value* Product(GraphBuilder& b, Value* x) {
  std::mt19937 generator(1);
  return b.Op("MatMul", {x, b.Constant("weight", RandomFloats({256, 256}, generator))});
}

Value* Rows(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"n", 256}); }

TEST(FinalNodesTest, PassElementWiseNodesAndViews) {
  EXPECT_THAT(FinalOps([](GraphBuilder& b) {
                Value* y = Product(b, b.Op("Relu", {Rows(b)}));
                b.Output(b.Op("Transpose", {b.Op("Tanh", {y})}));
              }),
              ElementsAre("MatMul", "Tanh", "Transpose"));
}

TEST(FinalNodesTest, NotNodesWithAnotherReader) {
  EXPECT_THAT(FinalOps([](GraphBuilder& b) {
                Value* y = Product(b, Rows(b));
                b.Output(b.Op("Tanh", {y})).Output(y).Output(b.Op("Softmax", {y}));
              }),
              ElementsAre("Softmax", "Tanh"));
}

// Both branches of an If end with a product, behind another one.
std::shared_ptr<Graph> Body(Value* x) {
  return Subgraph([x](GraphBuilder& in) {
    in.Output(Product(in, in.Op("Softmax", {Product(in, in.Capture(x))})));
  });
}

std::vector<std::string> Reasons(const PlanTester::Build& build) {
  GraphBuilder builder;
  build(builder);
  const std::unique_ptr<Graph> graph = builder.Build().value();
  const auto plan = exec::Plan::Make(*graph, exec::KernelOptions{Precision::kInt8}).value();
  std::vector<std::string> reasons;
  for (const ProductPrecision& product : exec::ProductPrecisionsOf(*plan, Precision::kInt8)) {
    EXPECT_EQ(product.precision, product.reason.empty() ? Precision::kInt8 : Precision::kFloat32);
    reasons.push_back(product.reason);
  }
  return reasons;
}

TEST(ProductPrecisionsTest, EqualNodesDifferInWhereTheyStand) {
  EXPECT_THAT(Reasons([](GraphBuilder& b) {
                b.Output(Product(b, b.Op("Softmax", {Product(b, Rows(b))})));
              }),
              ElementsAre("", HasSubstr("final")));
}

TEST(ProductPrecisionsTest, ABranchIsFinalIfItsIfIs) {
  const auto branches = [](bool is_final) {
    return [is_final](GraphBuilder& b) {
      Value* condition = b.Input("condition", DataType::kBool, {});
      Value* x = Rows(b);
      Value* y = b.Op("If", {condition}, {{"then_branch", Body(x)}, {"else_branch", Body(x)}});
      b.Output(is_final ? y : b.Op("Softmax", {y}));
    };
  };
  EXPECT_THAT(Reasons(branches(true)), ElementsAre("", HasSubstr("final"), "", HasSubstr("final")));
  EXPECT_THAT(Reasons(branches(false)), ElementsAre("", "", "", ""));
}

TEST(ProductPrecisionsTest, NothingIsSaidOfFloat32) {
  GraphBuilder b;
  b.Output(Product(b, Rows(b)));
  const std::unique_ptr<Graph> graph = b.Build().value();
  const auto plan = exec::Plan::Make(*graph, exec::KernelOptions{}).value();
  EXPECT_TRUE(exec::ProductPrecisionsOf(*plan, Precision::kFloat32).empty());
}

}  // namespace
}  // namespace attnrun::testing
