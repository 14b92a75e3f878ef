// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals as inputs and outputs, and as values of subgraphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "core/elements.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using ::testing::HasSubstr;

constexpr auto kFloat = onnx::TensorProto::FLOAT;
constexpr auto kInt64 = onnx::TensorProto::INT64;
constexpr auto kBool = onnx::TensorProto::BOOL;

constexpr Engine kEngines[] = {Engine::kOptimized, Engine::kUnoptimized, Engine::kReference};

void SetKind(onnx::ValueInfoProto* info, const std::string& name, const std::string& kinds,
             int type = kFloat) {
  info->set_name(name);
  onnx::TypeProto* proto = info->mutable_type();
  for (const char kind : kinds) {
    proto = kind == 'o' ? proto->mutable_optional_type()->mutable_elem_type()
                        : proto->mutable_sequence_type()->mutable_elem_type();
  }
  proto->mutable_tensor_type()->set_elem_type(type);
}

// A model with inputs and outputs of these kinds: "" a tensor, "s" a sequence, "o" an optional,
// "os" an optional sequence.
struct Interface {
  std::vector<std::pair<std::string, std::string>> inputs;
  std::vector<std::pair<std::string, std::string>> outputs;
};

ModelProto MakeModel(const Interface& interface) {
  ModelProto model = EmptyModel();
  for (const auto& [name, kinds] : interface.inputs) {
    SetKind(model.mutable_graph()->add_input(), name, kinds);
  }
  for (const auto& [name, kinds] : interface.outputs) {
    SetKind(model.mutable_graph()->add_output(), name, kinds);
  }
  return model;
}

absl::StatusOr<Session> Load(const ModelProto& model, Engine engine = Engine::kOptimized) {
  SessionOptions options;
  options.engine = engine;
  // The bytes must outlive the session.
  static std::deque<std::string> bytes;
  bytes.push_back(model.SerializeAsString());
  return Session::LoadBytes(bytes.back(), options);
}

Tensor Vector(const std::vector<float>& elements) {
  return *Tensor::Of<float>({static_cast<int64_t>(elements.size())}, elements);
}
Tensor Vectors(const std::vector<std::vector<float>>& vectors) {
  std::vector<Tensor> tensors;
  for (const auto& elements : vectors) tensors.push_back(Vector(elements));
  return *Tensor::Sequence(DataType::kFloat, tensors);
}

std::string Text(const Tensor& value) {
  if (!value.defined()) return "none";
  std::string text;
  if (!value.is_sequence()) {
    const std::vector<double> elements = ToDoubles(value).value();
    for (const double element : elements) text += absl::StrCat(" ", element);
    return text;
  }
  for (const Tensor& tensor : value.tensors()) text += "(" + Text(tensor) + ")";
  return "<" + text + ">";
}

// Runs the model on all engines and expects this output y, or an error that says so.
void Expect(const ModelProto& model, const TensorMap& inputs, const std::string& expected) {
  for (const Engine engine : kEngines) {
    SCOPED_TRACE(static_cast<int>(engine));
    const auto session = Load(model, engine);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto outputs = session->Run(inputs);
    if (outputs.ok()) {
      EXPECT_EQ(Text(outputs->at("y")), expected);
    } else {
      EXPECT_THAT(Message(outputs.status()), HasSubstr(expected));
    }
  }
}

ModelProto Reversing() {
  ModelProto model = MakeModel({{{"x", "s"}, {"e", ""}}, {{"y", "s"}}});
  GraphProto* graph = model.mutable_graph();
  onnx::TensorProto zero = MakeTensor("zero", kInt64, {});
  zero.add_int64_data(0);
  *graph->add_initializer() = std::move(zero);
  AddNode(graph, "SequenceInsert", {"x", "e", "zero"}, {"y"}, "insert");
  return model;
}

TEST(SequenceSessionTest, SequencesAreInputsAndOutputs) {
  Expect(Reversing(), {{"x", Vectors({{1}, {2, 3}})}, {"e", Vector({4})}}, "<( 4)( 1)( 2 3)>");
  Expect(Reversing(), {{"x", Vectors({})}, {"e", Vector({4})}}, "<( 4)>");
}

TEST(SequenceSessionTest, InputsAreChecked) {
  const auto session = Load(Reversing());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->inputs()[0].kind, ValueKind::kSequence);
  EXPECT_EQ(TypeAndShape(session->inputs()[0]), "sequence(float)");
  const struct {
    TensorMap inputs;
    const char* message;
  } cases[] = {
      {{{"x", Vector({1})}, {"e", Vector({1})}},
       "input 'x' expects sequence(float), but found float[1]"},
      {{{"x", Vectors({{1}})}, {"e", Vectors({{1}})}},
       "input 'e' expects float, but found sequence(float)[1]"},
      {{{"x", *Tensor::Sequence(DataType::kInt64, {})}, {"e", Vector({1})}},
       "input 'x' expects sequence(float), but found sequence(int64)[0]"},
      {{{"e", Vector({1})}}, "input 'x' (sequence(float)) is missing"},
  };
  for (const auto& [inputs, message] : cases) {
    EXPECT_THAT(Message(session->Run(inputs).status()), HasSubstr(message));
  }
}

TEST(SequenceSessionTest, TheOutputsOfARunMayBeGivenToTheNext) {
  const auto session = Load(Reversing());
  ASSERT_TRUE(session.ok()) << session.status();
  TensorMap outputs;
  outputs["y"];
  const TensorMap inputs = {{"x", Vectors({{1}})}, {"e", Vector({4})}};
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(session->Run(inputs, outputs), absl::OkStatus());
    EXPECT_EQ(Text(outputs.at("y")), "<( 4)( 1)>");
  }
}

TEST(SequenceSessionTest, AnOptionalMayBeLeftOut) {
  // y = has(x) ? get(x) : e.
  ModelProto model = MakeModel({{{"x", "o"}, {"e", ""}}, {{"y", ""}}});
  GraphProto* graph = model.mutable_graph();
  AddNode(graph, "OptionalHasElement", {"x"}, {"has"});
  onnx::NodeProto* node = AddNode(graph, "If", {"has"}, {"y"});
  GraphProto* then_branch = AddSubgraph(node, "then_branch");
  AddNode(then_branch, "OptionalGetElement", {"x"}, {"a"});
  then_branch->add_output()->set_name("a");
  GraphProto* else_branch = AddSubgraph(node, "else_branch");
  AddNode(else_branch, "Identity", {"e"}, {"b"});
  else_branch->add_output()->set_name("b");
  Expect(model, {{"x", Vector({1})}, {"e", Vector({4})}}, " 1");
  Expect(model, {{"e", Vector({4})}}, " 4");
}

TEST(SequenceSessionTest, AnOptionalOutputMayLackItsElement) {
  // y = cond ? Optional(x) : Optional().
  ModelProto model = MakeModel({{{"x", "s"}}, {{"y", "os"}}});
  GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "cond", kBool, {});
  onnx::NodeProto* node = AddNode(graph, "If", {"cond"}, {"y"});
  GraphProto* then_branch = AddSubgraph(node, "then_branch");
  AddNode(then_branch, "Optional", {"x"}, {"a"});
  then_branch->add_output()->set_name("a");
  GraphProto* else_branch = AddSubgraph(node, "else_branch");
  onnx::NodeProto* none = AddNode(else_branch, "Optional", {}, {"b"});
  onnx::ValueInfoProto info;
  SetKind(&info, "b", "s");
  *AddAttribute(none, "type", onnx::AttributeProto::TYPE_PROTO)->mutable_tp() = info.type();
  else_branch->add_output()->set_name("b");
  const Tensor yes = *FromInts(DataType::kBool, {}, {1});
  const Tensor no = *FromInts(DataType::kBool, {}, {0});
  Expect(model, {{"x", Vectors({{1}})}, {"cond", yes}}, "<( 1)>");
  Expect(model, {{"x", Vectors({{1}})}, {"cond", no}}, "none");
}

// A Loop that inserts x `n` times, with the body's tensor at the front or the back.
ModelProto Appending() {
  ModelProto model = MakeModel({{{"x", ""}}, {{"y", "s"}}});
  GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "n", kInt64, {});
  AddNode(graph, "SequenceEmpty", {}, {"none"});
  onnx::NodeProto* loop = AddNode(graph, "Loop", {"n", "", "none"}, {"y"}, "loop");
  GraphProto* body = AddSubgraph(loop, "body");
  SetType(body->add_input(), "i", kInt64, {});
  SetType(body->add_input(), "go", kBool, {});
  SetKind(body->add_input(), "list", "s");
  AddIntAttribute(AddNode(body, "Cast", {"i"}, {"number"}), "to", kFloat);
  AddNode(body, "Add", {"number", "x"}, {"sum"});
  AddNode(body, "SequenceInsert", {"list", "sum"}, {"longer"}, "insert");
  AddNode(body, "Identity", {"go"}, {"on"});
  body->add_output()->set_name("on");
  body->add_output()->set_name("longer");
  return model;
}

TEST(SequenceSessionTest, ALoopCarriesASequence) {
  const auto count = [](int64_t n) { return *Tensor::Of<int64_t>({}, {n}); };
  Expect(Appending(), {{"x", Vector({5})}, {"n", count(3)}}, "<( 5)( 6)( 7)>");
  Expect(Appending(), {{"x", Vector({5})}, {"n", count(0)}}, "<>");
}

TEST(SequenceSessionTest, SequenceMapRunsItsBodyOnEachTensor) {
  ModelProto model = MakeModel({{{"x", "s"}, {"e", ""}}, {{"y", "s"}, {"z", "s"}}});
  GraphProto* graph = model.mutable_graph();
  onnx::NodeProto* map = AddNode(graph, "SequenceMap", {"x", "e", "x"}, {"y", "z"}, "map");
  GraphProto* body = AddSubgraph(map, "body");
  for (const char* name : {"a", "b", "c"}) SetKind(body->add_input(), name, "");
  AddNode(body, "Add", {"a", "b"}, {"sum"});
  AddNode(body, "Shape", {"c"}, {"shape"});
  SetKind(body->add_output(), "sum", "");
  SetKind(body->add_output(), "shape", "", kInt64);
  SetKind(model.mutable_graph()->mutable_output(1), "z", "s", kInt64);
  Expect(model, {{"x", Vectors({{1}, {2, 3}})}, {"e", Vector({4})}}, "<( 5)( 6 7)>");
  Expect(model, {{"x", Vectors({})}, {"e", Vector({4})}}, "<>");
  const auto session = Load(model);
  const auto outputs = session->Run({{"x", Vectors({})}, {"e", Vector({4})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(TypeAndShape(outputs->at("z")), "sequence(int64)[0]");
  EXPECT_EQ(Text(session->Run({{"x", Vectors({{1}, {2, 3}})}, {"e", Vector({4})}})->at("z")),
            "<( 1)( 2)>");
}

TEST(SequenceSessionTest, ObserversSeeSequences) {
  const auto session = Load(Reversing());
  std::string seen;
  RunOptions options;
  options.observer = [&](absl::string_view name, const Tensor& value) {
    absl::StrAppend(&seen, name, " ", TypeAndShape(value), ";");
  };
  ASSERT_TRUE(session->Run({{"x", Vectors({{1}})}, {"e", Vector({4})}}, options).ok());
  EXPECT_EQ(seen, "y sequence(float)[2];");
}

// Models in which values are of the wrong kind are refused before a run.
TEST(SequenceSessionTest, KindsAreCheckedWhenAModelIsLoaded) {
  const struct {
    Interface interface;
    const char* op_type;
    Names inputs;
    const char* message;
  } cases[] = {
      {{{{"x", "s"}}, {{"y", ""}}},
       "Relu",
       {"x"},
       "node 'bad' (Relu): input 0 must be a value of kind tensor, but is of kind sequence"},
      {{{{"x", ""}}, {{"y", ""}}},
       "SequenceLength",
       {"x"},
       "input 0 must be a value of kind sequence, but is of kind tensor"},
      {{{{"x", "s"}}, {{"y", "s"}}}, "SequenceInsert", {"x", "x"}, "input 1 must be"},
      {{{{"x", "o"}}, {{"y", ""}}}, "Relu", {"x"}, "but is of kind optional tensor"},
      {{{{"x", "os"}}, {{"y", "os"}}}, "Optional", {"x"}, "found an optional sequence"},
      {{{}, {{"y", "o"}}}, "Optional", {}, "attribute 'type'"},
      {{{{"x", "s"}}, {{"y", ""}}}, "Identity", {"x"}, "output 'y' is declared as a tensor"},
      {{{{"x", "ss"}}, {{"y", ""}}},
       "SequenceLength",
       {"x"},
       "'x' is a sequence(sequence(tensor(float))); only tensors, sequences of tensors and"},
      {{{{"x", "so"}}, {{"y", ""}}}, "SequenceLength", {"x"}, "sequence(optional(tensor(float)))"},
      {{{{"x", "oo"}}, {{"y", ""}}}, "OptionalHasElement", {"x"}, "optional(optional("},
  };
  for (const auto& [interface, op_type, inputs, message] : cases) {
    ModelProto model = MakeModel(interface);
    AddNode(model.mutable_graph(), op_type, inputs, {"y"}, "bad");
    const auto session = Load(model);
    ASSERT_FALSE(session.ok()) << op_type;
    EXPECT_THAT(Message(session.status()), HasSubstr(message));
  }
}

TEST(SequenceSessionTest, BranchesMustBeOfOneKind) {
  ModelProto model = MakeModel({{{"x", ""}}, {{"y", "s"}}});
  GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "cond", kBool, {});
  onnx::NodeProto* node = AddNode(graph, "If", {"cond"}, {"y"}, "bad");
  for (const char* branch : {"then_branch", "else_branch"}) {
    const bool lists = branch[0] == 't';
    GraphProto* body = AddSubgraph(node, branch);
    AddNode(body, lists ? "SequenceConstruct" : "Relu", {"x"}, {branch});
    body->add_output()->set_name(branch);
  }
  EXPECT_THAT(Message(Load(model).status()),
              HasSubstr("node 'bad' (If): output 0 of the two branches: a sequence and a tensor "
                        "cannot take one place"));
}

TEST(SequenceSessionTest, ALoopMayNotScanSequencesOut) {
  ModelProto model = Appending();
  onnx::NodeProto* loop = model.mutable_graph()->mutable_node(1);
  loop->mutable_attribute(0)->mutable_g()->add_output()->set_name("longer");
  loop->add_output("scanned");
  EXPECT_THAT(Message(Load(model).status()),
              HasSubstr("node 'loop' (Loop): output 2 of the body must be a tensor, but is a"));
}

}  // namespace
}  // namespace attnrun::testing
