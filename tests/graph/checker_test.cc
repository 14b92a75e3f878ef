// SPDX-License-Identifier: Apache-2.0
#include "graph/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_builder.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// y = Add(x, Relu(x)), with pointers to the nodes that the tests break.
struct Sample {
  Sample() {
    GraphBuilder b(*graph, 20);
    x = b.Input("x", DataType::kFloat, {"n"});
    relu = b.Op("Relu", {x});
    add = b.Op("Add", {x, relu});
    b.Output(add);
  }
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Value* x;
  Value* relu;
  Value* add;
};

std::shared_ptr<Graph> BranchReading(Value* outer) {
  GraphBuilder b;
  b.Output(b.Op("Neg", {b.Capture(outer)}));
  return b.Build().value();
}

TEST(CheckerTest, GraphsOfTheBuilderAreSound) {
  Sample s;
  EXPECT_EQ(CheckGraph(*s.graph), absl::OkStatus());
}

TEST(CheckerTest, SubgraphsAreChecked) {
  Sample s;
  GraphBuilder b(*s.graph, 20);
  Value* condition = b.Input("c", DataType::kBool, {});
  Value* result =
      b.Op("If", {condition},
           {{"then_branch", BranchReading(s.add)}, {"else_branch", BranchReading(s.x)}});
  ASSERT_EQ(CheckGraph(*s.graph), absl::OkStatus());
  EXPECT_THAT(result->producer()->implicit_inputs(), ::testing::ElementsAre(s.x, s.add));
  std::get<std::shared_ptr<Graph>>(*result->producer()->attribute("then_branch"))->AddOutput(s.x);
  EXPECT_THAT(std::string(CheckGraph(*s.graph).message()),
              HasSubstr("a graph output is not a value of the graph"));
}

TEST(CheckerTest, RewritesKeepTheInvariants) {
  Sample s;
  GraphBuilder b(*s.graph, 20);
  Value* condition = b.Input("c", DataType::kBool, {});
  b.Output(b.Op("If", {condition},
                {{"then_branch", BranchReading(s.relu)}, {"else_branch", BranchReading(s.relu)}}));
  Value* gelu = b.Op("Gelu", {s.x});
  s.graph->ReplaceUses(s.relu, gelu);
  EXPECT_TRUE(s.relu->consumers().empty());
  s.graph->RemoveNode(s.relu->producer());
  EXPECT_EQ(CheckGraph(*s.graph), absl::OkStatus());
  EXPECT_EQ(s.graph->FindValue("Relu"), nullptr);
}

TEST(CheckerTest, NodeNamesAreMadeUnique) {
  Sample s;
  const std::string first = s.graph->AddNode({"a", "Relu", "", 20, {s.x}, {}}, {}).value()->name();
  const std::string second = s.graph->AddNode({"a", "Relu", "", 20, {s.x}, {}}, {}).value()->name();
  EXPECT_EQ(first, "a");
  EXPECT_EQ(second, "a_0");
}

struct Damage {
  const char* name;
  void (*apply)(Sample&);
  const char* message;
};

class BrokenGraphTest : public ::testing::TestWithParam<Damage> {};

TEST_P(BrokenGraphTest, IsFound) {
  Sample s;
  GetParam().apply(s);
  const absl::Status status = CheckGraph(*s.graph);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenGraphTest,
    ::testing::Values(
        Damage{"ForeignInput",
               [](Sample& s) {
                 static Sample other;
                 s.graph->SetInput(s.add->producer(), 0, other.relu);
               },
               "an input of node 'Add_0' (Add) is not a value of its graph"},
        Damage{"ForeignOutput",
               [](Sample& s) {
                 static Sample other;
                 s.graph->AddOutput(other.add);
               },
               "a graph output is not a value of the graph"},
        Damage{"Cycle", [](Sample& s) { s.graph->SetInput(s.relu->producer(), 0, s.add); },
               "the graph has a cycle: node 'Relu_0' (Relu) reads from node 'Add_0' (Add) reads "
               "from node 'Relu_0' (Relu)"},
        Damage{"SubgraphNotAttached",
               [](Sample& s) { s.add->producer()->set_attribute("body", BranchReading(s.x)); },
               "node 'Add_0' (Add) has 0 implicit inputs, which are not the 1 values its subgraphs "
               "capture"},
        Damage{"CaptureInMainGraph",
               [](Sample& s) {
                 static Sample other;
                 ASSERT_TRUE(s.graph->AddCapture("outer", other.x).ok());
               },
               "the main graph has captures"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
