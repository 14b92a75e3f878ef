// SPDX-License-Identifier: Apache-2.0
#include "execution/plan.h"

#include <gtest/gtest.h>

#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

// Both branches multiply by one weight of the main graph, then by a weight of their own.
std::unique_ptr<Graph> TwoBranches() {
  GraphBuilder b;
  Value* condition = b.Input("condition", DataType::kBool, {});
  Value* x = b.Input("x", DataType::kFloat, {"n", 4});
  std::mt19937 generator(1);
  Value* weight = b.Constant("weight", RandomFloats({4, 4}, generator));
  const auto branch = [&](uint32_t seed) {
    return Subgraph([&](GraphBuilder& in) {
      std::mt19937 own(seed);
      Value* y = in.Op("MatMul", {in.Capture(x), in.Capture(weight)});
      in.Output(in.Op("MatMul", {y, in.Constant("own", RandomFloats({4, 4}, own))}));
    });
  };
  b.Output(b.Op("If", {condition}, {{"then_branch", branch(2)}, {"else_branch", branch(3)}}));
  return b.Build().value();
}

TEST(PlanTest, NodesWithEqualConstantsShareTheirKernel) {
  const std::unique_ptr<Graph> graph = TwoBranches();
  const auto plan = exec::Plan::Make(*graph, exec::KernelOptions{}).value();
  const auto& branches = plan->steps()[0].subgraphs;
  const auto& taken = branches.at("then_branch")->steps();
  const auto& other = branches.at("else_branch")->steps();
  ASSERT_NE(taken[0].kernel, nullptr);
  EXPECT_EQ(taken[0].kernel, other[0].kernel);
  EXPECT_NE(taken[1].kernel, other[1].kernel);
}

}  // namespace
}  // namespace attnrun::testing
