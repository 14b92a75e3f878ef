// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/checker.h"
#include "graph/dump.h"
#include "support/graph_builder.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(GraphTest, ARenamedValueIsFoundUnderItsNewName) {
  GraphBuilder b;
  Value* y = b.Op("Relu", {b.Input("x", DataType::kFloat, {"n"})});
  b.Output(y);
  const std::unique_ptr<Graph> graph = b.Build().value();
  graph->Rename(y, "y");
  EXPECT_EQ(y->name(), "y");
  EXPECT_EQ(graph->FindValue("y"), y);
  EXPECT_EQ(graph->FindValue("Relu"), nullptr);
  EXPECT_EQ(CheckGraph(*graph), absl::OkStatus());
}

TEST(GraphTest, ANameOnceUsedIsNotUnique) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"n"});
  Value* y = b.Op("Relu", {x});
  const std::unique_ptr<Graph> graph = b.Build().value();
  graph->RemoveNode(y->producer());
  EXPECT_EQ(graph->UniqueName("Relu"), "Relu_1");
  EXPECT_EQ(graph->UniqueName("x"), "x_1");
  EXPECT_EQ(graph->UniqueName("y"), "y");
}

// y = If(condition), whose then branch holds an If that adds `constant` or `read`. The branch also
// captures `unread`.
struct Nested {
  Nested() {
    GraphBuilder b(*graph, 20);
    condition = b.Input("condition", DataType::kBool, {});
    constant = b.Constant<float>("constant", {1}, {7});
    unread = b.Input("unread", DataType::kFloat, {"n"});
    read = b.Op("Relu", {b.Input("x", DataType::kFloat, {"n"})});
    outer =
        b.Op("If", {condition}, {{"then_branch", Outer()}, {"else_branch", Other()}})->producer();
    b.Output(outer->output(0));
  }

  std::shared_ptr<Graph> Outer() const {
    GraphBuilder middle;
    Value* inner_condition = middle.Capture(condition);
    const std::vector<Value*> captured = {middle.Capture(constant), middle.Capture(unread),
                                          middle.Capture(read)};
    GraphBuilder inner;
    Value* one = inner.Capture(captured[0]);
    inner.Capture(captured[1]);
    inner.Output(inner.Op("Add", {one, inner.Capture(captured[2])}));
    GraphBuilder other;
    other.Output(other.Op("Neg", {other.Capture(captured[0])}));
    middle.Output(middle.Op("If", {inner_condition},
                            {{"then_branch", std::shared_ptr<Graph>(inner.Build().value())},
                             {"else_branch", std::shared_ptr<Graph>(other.Build().value())}}));
    return middle.Build().value();
  }
  std::shared_ptr<Graph> Other() const {
    GraphBuilder b;
    b.Output(b.Op("Abs", {b.Capture(read)}));
    return b.Build().value();
  }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Value* condition;
  Value* constant;
  Value* unread;
  Value* read;
  Node* outer;
};

TEST(GraphTest, TidyCapturesDropsUnreadValuesAndCopiesConstants) {
  Nested nested;
  nested.graph->TidyCaptures(nested.outer);
  EXPECT_EQ(CheckGraph(*nested.graph), absl::OkStatus());
  EXPECT_THAT(nested.unread->consumers(), IsEmpty());
  EXPECT_THAT(nested.constant->consumers(), IsEmpty());
  EXPECT_THAT(nested.outer->implicit_inputs(),
              ElementsAre(nested.read, nested.condition, nested.read));
  const auto& branch = std::get<std::shared_ptr<Graph>>(*nested.outer->attribute("then_branch"));
  const Value* inside = branch->FindValue("constant");
  ASSERT_TRUE(inside == nullptr || inside->is_constant());
  const Graph& leaf =
      *std::get<std::shared_ptr<Graph>>(*branch->nodes()[0]->attribute("then_branch"));
  ASSERT_TRUE(leaf.FindValue("constant")->is_constant());
  EXPECT_EQ(leaf.FindValue("constant")->constant()->raw(), nested.constant->constant()->raw());
}

TEST(GraphTest, AnInlinedBranchBecomesPartOfTheGraph) {
  Nested nested;
  // The branch has a value of this name, too.
  NodeSpec spec;
  spec.op_type = "Abs";
  spec.opset = 20;
  spec.inputs = {nested.read};
  ASSERT_TRUE(nested.graph->AddNode(spec, {"Abs"}).ok());
  const std::vector<Value*> other = nested.graph->Inline(nested.outer, "else_branch");
  const std::vector<Value*> outputs = nested.graph->Inline(nested.outer, "then_branch");
  ASSERT_THAT(other, SizeIs(1));
  EXPECT_EQ(other[0]->name(), "Abs_1");
  EXPECT_EQ(other[0]->producer()->inputs(), std::vector<Value*>{nested.read});
  ASSERT_THAT(outputs, SizeIs(1));
  nested.graph->ReplaceUses(nested.outer->output(0), outputs[0]);
  nested.graph->RemoveNode(nested.outer);
  EXPECT_EQ(CheckGraph(*nested.graph), absl::OkStatus());
  // The inner If now reads the values that the outer If captured.
  EXPECT_THAT(outputs[0]->producer()->implicit_inputs(),
              ElementsAre(nested.constant, nested.constant, nested.unread, nested.read));
  EXPECT_THAT(DumpText(*nested.graph), Not(HasSubstr("outer %condition")));
}

}  // namespace
}  // namespace attnrun::testing
