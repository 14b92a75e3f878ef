// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/axes.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/axes_tester.h"
#include "support/graph_builder.h"

namespace attnrun::testing {
namespace {

TEST(AxesOfTest, ANodeOfAGraph) {
  GraphBuilder b;
  Value* tokens = b.Input("tokens", DataType::kFloat, {"batch", "seq", 8});
  Value* weight = b.Input("weight", DataType::kFloat, {8, 4});
  Value* product = b.Op("MatMul", {tokens, weight});
  b.Output(product);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  const ops::AxisRule rule = opt::AxesOf(*product->producer(), facts);
  EXPECT_EQ(Text(rule), "0.0 > 0.0; 0.1 > 0.1; 1.1 > 0.2");
  EXPECT_EQ(rule.OfInput(0, 2), nullptr);
  EXPECT_EQ(rule.OfInput(1, 1), rule.OfOutput(0, 2));
}

// Softmax commutes with a Transpose that leaves its axis alone, not with one that moves it.
TEST(AxesOfTest, TheSameOperatorBesideOtherInputs) {
  GraphBuilder b;
  Value* scores = b.Input("scores", DataType::kFloat, {"batch", 12, "seq", "seq"});
  Value* probabilities = b.Op("Softmax", {scores}, {{"axis", int64_t{1}}});
  b.Output(probabilities);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  const Node& node = *probabilities->producer();
  EXPECT_EQ(Text(opt::AxesOf(node, facts)), "0.0 > 0.0; 0.2 > 0.2; 0.3 > 0.3");
  const ops::ValueFacts turned = Floats({kSeq, 12, kSeq, kBatch});
  EXPECT_EQ(Text(opt::AxesOf(node, {&turned})), "0.0 > 0.0; 0.2 > 0.2; 0.3 > 0.3");
  const ops::ValueFacts moved = Floats({kBatch, kSeq, 12, kSeq});
  EXPECT_EQ(Text(opt::AxesOf(node, {&moved})), "0.0 > 0.0; 0.2 > 0.2; 0.3 > 0.3");
}

// An operator that does not exist, and one without its attributes, say nothing.
TEST(AxesOfTest, NodesThatCannotRun) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
  Value* unknown = b.Op("Unheard", {x});
  Value* incomplete = b.Op("Concat", {x});
  b.Output(unknown).Output(incomplete);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  EXPECT_EQ(Text(opt::AxesOf(*unknown->producer(), facts)), "");
  EXPECT_EQ(Text(opt::AxesOf(*incomplete->producer(), facts)), "");
}

}  // namespace
}  // namespace attnrun::testing
