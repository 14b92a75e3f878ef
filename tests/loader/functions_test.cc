// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/checker.h"
#include "graph/dump.h"
#include "loader/loader.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FunctionProto* AddFunction(onnx::ModelProto& model, const std::string& name, const Names& inputs,
                           const Names& outputs) {
  FunctionProto* function = model.add_functions();
  function->set_domain("pkg");
  function->set_name(name);
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  function->add_opset_import()->set_version(18);
  return function;
}

onnx::NodeProto* AddBodyNode(FunctionProto* function, const std::string& op_type,
                             const Names& inputs, const Names& outputs,
                             const std::string& name = "") {
  onnx::GraphProto scratch;
  *function->add_node() = *AddNode(&scratch, op_type, inputs, outputs, name);
  return function->mutable_node(function->node_size() - 1);
}

onnx::NodeProto* AddCall(onnx::GraphProto* graph, const std::string& function, const Names& inputs,
                         const Names& outputs, const std::string& name = "") {
  onnx::NodeProto* call = AddNode(graph, function, inputs, outputs, name);
  call->set_domain("pkg");
  return call;
}

void Refer(onnx::NodeProto* node, const std::string& name, const std::string& to) {
  AddAttribute(node, name, AttributeProto::INT)->set_ref_attr_name(to);
}

// A model with the inputs x and c (bool), which imports the domain pkg.
onnx::ModelProto ModelWithInputs() {
  onnx::ModelProto model = EmptyModel();
  auto* import = model.add_opset_import();
  import->set_domain("pkg");
  import->set_version(1);
  SetType(model.mutable_graph()->add_input(), "x", TensorProto::FLOAT, {4});
  SetType(model.mutable_graph()->add_input(), "c", TensorProto::BOOL, {});
  return model;
}

// Describes each node as "op(inputs)->outputs{attributes}".
Names Describe(const Graph& graph) {
  Names lines;
  for (const Node* node : graph.nodes()) {
    std::string line = absl::StrCat(node->name(), "=", node->op_type(), node->opset(), "(");
    for (const Value* value : node->inputs()) {
      absl::StrAppend(&line, value == nullptr ? "_" : value->name(), " ");
    }
    line += ")->";
    for (const Value* value : node->outputs()) {
      absl::StrAppend(&line, value == nullptr ? "_" : value->name(), " ");
    }
    for (const auto& [name, value] : node->attributes()) {
      absl::StrAppend(&line, name, "=", ToString(value));
    }
    lines.push_back(line);
  }
  return lines;
}

Names Inlined(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  const absl::StatusOr<loader::Model> loaded = loader::ParseModel(bytes);
  EXPECT_TRUE(loaded.ok()) << Message(loaded.status());
  if (!loaded.ok()) return {};
  EXPECT_EQ(CheckGraph(*loaded->graph), absl::OkStatus());
  return Describe(*loaded->graph);
}

std::string Error(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return Message(loader::ParseModel(bytes).status());
}

TEST(FunctionsTest, BodiesReplaceCalls) {
  onnx::ModelProto model = ModelWithInputs();
  FunctionProto* twice = AddFunction(model, "Twice", {"a", "b"}, {"r", "s"});
  AddBodyNode(twice, "Add", {"a", "b"}, {"t"}, "add");
  AddBodyNode(twice, "Mul", {"t", "a"}, {"r"});
  AddBodyNode(twice, "Neg", {"t"}, {"s"});
  // The calls come before the nodes they read and use names that also occur in the body.
  AddCall(model.mutable_graph(), "Twice", {"t", "x"}, {"r", "out"}, "second");
  AddCall(model.mutable_graph(), "Twice", {"x"}, {"t"}, "first");
  EXPECT_THAT(
      Inlined(model),
      ElementsAre("second/add=Add18(t x )->second/t ", "second/Mul_0=Mul18(second/t t )->r ",
                  "second/Neg_0=Neg18(second/t )->out ", "first/add=Add18(x _ )->first/t ",
                  "first/Mul_0=Mul18(first/t x )->t ", "first/Neg_0=Neg18(first/t )->first/s "));
}

TEST(FunctionsTest, AttributesArePassedOnAndHaveDefaults) {
  onnx::ModelProto model = ModelWithInputs();
  FunctionProto* inner = AddFunction(model, "Inner", {"a"}, {"r"});
  inner->add_attribute("axis");
  inner->add_attribute("unused");
  AttributeProto* fallback = inner->add_attribute_proto();
  fallback->set_name("last");
  fallback->set_type(AttributeProto::INT);
  fallback->set_i(-1);
  onnx::NodeProto* body = AddBodyNode(inner, "Op", {"a"}, {"r"});
  Refer(body, "axis", "axis");
  Refer(body, "keep", "unused");
  Refer(body, "last", "last");
  FunctionProto* outer = AddFunction(model, "Outer", {"a"}, {"r"});
  outer->add_attribute("dim");
  onnx::NodeProto* nested = AddBodyNode(outer, "Inner", {"a"}, {"r"}, "nested");
  nested->set_domain("pkg");
  Refer(nested, "axis", "dim");
  Refer(nested, "last", "nothing passes this");
  AddIntAttribute(AddCall(model.mutable_graph(), "Outer", {"x"}, {"y"}, "call"), "dim", 3);
  AddIntAttribute(AddCall(model.mutable_graph(), "Inner", {"x"}, {"z"}, "direct"), "last", 5);
  EXPECT_THAT(Inlined(model), ElementsAre("call/nested/Op_0=Op18(x )->y axis=3last=-1",
                                          "direct/Op_0=Op18(x )->z last=5"));
}

TEST(FunctionsTest, CallsOfOperatorsStayNodes) {
  onnx::ModelProto model = ModelWithInputs();
  FunctionProto* known = AddFunction(model, "Known", {"a", "b"}, {"r"});
  known->add_attribute("given");
  AttributeProto* fallback = known->add_attribute_proto();
  fallback->set_name("last");
  fallback->set_type(AttributeProto::INT);
  fallback->set_i(-1);
  AddBodyNode(known, "Neg", {"a"}, {"r"});
  FunctionProto* outer = AddFunction(model, "Outer", {"a"}, {"r"});
  outer->add_attribute("dim");
  onnx::NodeProto* nested = AddBodyNode(outer, "Known", {"", "a"}, {"r"}, "nested");
  nested->set_domain("pkg");
  Refer(nested, "given", "dim");
  AddIntAttribute(AddCall(model.mutable_graph(), "Outer", {"x"}, {"y"}, "call"), "dim", 3);
  AddCall(model.mutable_graph(), "Known", {"x", "x"}, {"z"}, "unfit");
  const loader::LoadOptions options = {.is_operator = [](const loader::FunctionCall& call) {
    return call.domain == "pkg" && call.name == "Known" && call.opset == 1 && call.outputs == 1 &&
           call.inputs == std::vector<bool>{false, true} && call.attributes.contains("given");
  }};
  const std::string bytes = model.SerializeAsString();
  const absl::StatusOr<loader::Model> loaded = loader::ParseModel(bytes, options);
  ASSERT_TRUE(loaded.ok()) << Message(loaded.status());
  EXPECT_THAT(Describe(*loaded->graph), ElementsAre("call/nested=Known1(_ x )->y given=3last=-1",
                                                    "unfit/Neg_0=Neg18(x )->z "));
}

TEST(FunctionsTest, OutputsMayBeInputsOrRepeated) {
  onnx::ModelProto model = ModelWithInputs();
  FunctionProto* function = AddFunction(model, "Same", {"a"}, {"a", "r", "r"});
  AddBodyNode(function, "Neg", {"a"}, {"r"}, "neg");
  AddCall(model.mutable_graph(), "Same", {"x"}, {"p", "q", "s"}, "f");
  EXPECT_THAT(Inlined(model), ElementsAre("f/neg=Neg18(x )->q ", "f/Identity_0=Identity18(x )->p ",
                                          "f/Identity_1=Identity18(q )->s "));
}

TEST(FunctionsTest, SubgraphsWithinBodiesSeeTheBody) {
  onnx::ModelProto model = ModelWithInputs();
  FunctionProto* function = AddFunction(model, "Choose", {"cond", "v"}, {"r"});
  function->add_attribute("axis");
  AddBodyNode(function, "Exp", {"v"}, {"e"}, "exp");
  onnx::NodeProto* choose = AddBodyNode(function, "If", {"cond"}, {"r"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto* graph = AddSubgraph(choose, branch);
    Refer(AddNode(graph, "Softmax", {"e"}, {"x"}, "softmax"), "axis", "axis");
    AddNode(graph, "Add", {"x", "v"}, {"y"}, "add");
    graph->add_output()->set_name("y");
  }
  AddIntAttribute(AddCall(model.mutable_graph(), "Choose", {"c", "x"}, {"y"}, "f"), "axis", 1);
  const std::string bytes = model.SerializeAsString();
  const loader::Model loaded = loader::ParseModel(bytes).value();
  EXPECT_EQ(CheckGraph(*loaded.graph), absl::OkStatus());
  const Node* node = loaded.graph->nodes()[1];
  const Graph& branch = *std::get<std::shared_ptr<Graph>>(*node->attribute("then_branch"));
  // The branch defines x, so the x of the main graph gets another name there.
  EXPECT_THAT(Describe(branch),
              ElementsAre("f/softmax=Softmax18(f/e )->x axis=1", "f/add=Add18(x x_1 )->y "));
  EXPECT_EQ(branch.FindValue("x_1")->outer(), loaded.graph->FindValue("x"));
}

TEST(FunctionsTest, OverloadsAndMissingImports) {
  onnx::ModelProto model = ModelWithInputs();
  AddBodyNode(AddFunction(model, "F", {"a"}, {"r"}), "Neg", {"a"}, {"r"}, "n");
  FunctionProto* other = AddFunction(model, "F", {"a"}, {"r"});
  other->set_overload("abs");
  // A body takes the opsets it does not import from the model.
  other->clear_opset_import();
  AddBodyNode(other, "Abs", {"a"}, {"r"}, "n");
  AddCall(model.mutable_graph(), "F", {"x"}, {"y"}, "a");
  AddCall(model.mutable_graph(), "F", {"x"}, {"z"}, "b")->set_overload("abs");
  EXPECT_THAT(Inlined(model), ElementsAre("a/n=Neg18(x )->y ", "b/n=Abs20(x )->z "));
}

TEST(FunctionsTest, GraphsMayBePassedToBodies) {
  onnx::ModelProto model = ModelWithInputs();
  FunctionProto* function = AddFunction(model, "Either", {"cond"}, {"r"});
  function->add_attribute("branch");
  onnx::NodeProto* choose = AddBodyNode(function, "If", {"cond"}, {"r"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    AddAttribute(choose, branch, AttributeProto::GRAPH)->set_ref_attr_name("branch");
  }
  onnx::GraphProto* graph =
      AddSubgraph(AddCall(model.mutable_graph(), "Either", {"c"}, {"y"}, "f"), "branch");
  AddNode(graph, "Neg", {"x"}, {"n"}, "neg");
  graph->add_output()->set_name("n");
  EXPECT_THAT(Inlined(model), ElementsAre("f/if=If18(c )->y else_branch=graph(1 nodes)"
                                          "then_branch=graph(1 nodes)"));
}

TEST(FunctionsTest, RecursionIsRefused) {
  onnx::ModelProto model = ModelWithInputs();
  for (const auto& [name, callee] : {std::pair("A", "B"), std::pair("B", "A")}) {
    AddBodyNode(AddFunction(model, name, {"a"}, {"r"}), callee, {"a"}, {"r"})->set_domain("pkg");
  }
  AddCall(model.mutable_graph(), "A", {"x"}, {"y"}, "call");
  EXPECT_THAT(Error(model), HasSubstr("a function calls itself: function 'pkg.A' -> function "
                                      "'pkg.B' -> function 'pkg.A'"));
}

// Functions F0 to F(n-1), each of which calls the next one `calls` times.
onnx::ModelProto Chain(int length, int calls) {
  onnx::ModelProto model = ModelWithInputs();
  for (int i = 0; i < length; ++i) {
    FunctionProto* function = AddFunction(model, absl::StrCat("F", i), {"a"}, {"r0"});
    for (int j = 0; j < calls; ++j) {
      const bool last = i + 1 == length;
      onnx::NodeProto* node = AddBodyNode(function, last ? "Neg" : absl::StrCat("F", i + 1), {"a"},
                                          {absl::StrCat("r", j)});
      if (!last) node->set_domain("pkg");
    }
  }
  AddCall(model.mutable_graph(), "F0", {"x"}, {"y"});
  return model;
}

TEST(FunctionsTest, NestingAndExpansionAreBounded) {
  EXPECT_EQ(Inlined(Chain(99, 1)).size(), 1);
  EXPECT_THAT(Error(Chain(200, 1)),
              HasSubstr("subgraphs and function calls are nested more than 100 deep"));
  EXPECT_THAT(Error(Chain(40, 2)),
              HasSubstr("the model's functions expand to more than 100000 nodes"));
}

TEST(FunctionsTest, ErrorsNameTheCallAndTheFunction) {
  const auto base = [] {
    onnx::ModelProto model = ModelWithInputs();
    AddBodyNode(AddFunction(model, "F", {"a"}, {"r"}), "Neg", {"a"}, {"r"}, "neg");
    return model;
  };
  const auto error = [&](void (*change)(onnx::ModelProto&)) {
    onnx::ModelProto model = base();
    change(model);
    return Error(model);
  };
  EXPECT_EQ(error([](auto& m) { AddCall(m.mutable_graph(), "F", {"x", "x"}, {"y"}, "f"); }),
            "the model: node 'f' (F): function 'pkg.F' has 1 inputs, but the call passes 2");
  EXPECT_EQ(error([](auto& m) { AddCall(m.mutable_graph(), "F", {"x"}, {"y", "z"}, "f"); }),
            "the model: node 'f' (F): function 'pkg.F' has 1 outputs, but the call passes 2");
  EXPECT_EQ(error([](auto& m) {
              AddIntAttribute(AddCall(m.mutable_graph(), "F", {"x"}, {"y"}, "f"), "axis", 1);
            }),
            "the model: node 'f' (F): function 'pkg.F' has no attribute 'axis'");
  EXPECT_EQ(error([](auto& m) {
              m.mutable_functions(0)->add_output("s");
              AddCall(m.mutable_graph(), "F", {"x"}, {"y", "z"}, "f");
            }),
            "the model: node 'f' (F): function 'pkg.F' never computes its output 's'");
  EXPECT_EQ(error([](auto& m) {
              AddBodyNode(m.mutable_functions(0), "Abs", {"a"}, {"a"}, "abs");
              AddCall(m.mutable_graph(), "F", {"x"}, {"y"}, "f");
            }),
            "the model: node 'f' (F): function 'pkg.F': the name 'a' is defined twice in function "
            "'pkg.F', by node 'f/abs' (Abs)");
  EXPECT_EQ(error([](auto& m) {
              AddBodyNode(m.mutable_functions(0), "Abs", {"x"}, {"b"}, "abs");
              AddCall(m.mutable_graph(), "F", {"x"}, {"y"}, "f");
            }),
            "the model: node 'f/abs' (Abs): nothing defines its input 0 'x' (no node, graph input "
            "or initializer)");
  EXPECT_EQ(error([](auto& m) { *m.add_functions() = m.functions(0); }),
            "the model: function 'pkg.F' is defined twice");
}

}  // namespace
}  // namespace attnrun::testing
