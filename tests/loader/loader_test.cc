// SPDX-License-Identifier: Apache-2.0
#include "loader/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "graph/checker.h"
#include "loader/model_maker.h"
#include "loader/skeleton.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using ::testing::ElementsAre;

// A loaded model together with the bytes that its tensors view.
struct Loaded {
  std::string bytes;
  loader::Model model;
  Graph& graph() const { return *model.graph; }
};

std::unique_ptr<Loaded> Load(const onnx::ModelProto& proto) {
  auto loaded = std::make_unique<Loaded>();
  loaded->bytes = proto.SerializeAsString();
  absl::StatusOr<loader::Model> model = loader::ParseModel(loaded->bytes);
  EXPECT_TRUE(model.ok()) << Message(model.status());
  if (!model.ok()) return nullptr;
  loaded->model = *std::move(model);
  EXPECT_EQ(CheckGraph(loaded->graph()), absl::OkStatus());
  return loaded;
}

const Graph& Subgraph(const Node* node, absl::string_view name) {
  return *std::get<std::shared_ptr<Graph>>(*node->attribute(name));
}

TEST(LoaderTest, NodesValuesAndTypes) {
  onnx::ModelProto proto = SmallModel();
  proto.set_producer_name("maker");
  proto.set_producer_version("1.2");
  SetType(proto.mutable_graph()->add_value_info(), "r", TensorProto::FLOAT, {2, 2});
  const auto loaded = Load(proto);
  const Graph& graph = loaded->graph();
  ASSERT_EQ(graph.nodes().size(), 2);
  const Node* add = graph.nodes()[1];
  EXPECT_EQ(add->name(), "add");
  EXPECT_EQ(add->opset(), 20);
  EXPECT_THAT(add->inputs(), ElementsAre(graph.FindValue("r"), graph.FindValue("w")));
  EXPECT_EQ(graph.outputs(), add->outputs());
  EXPECT_EQ(ToString(graph.FindValue("r")->type()), "float[2,2]");
  EXPECT_EQ(ToString(graph.FindValue("y")->type()), "float[2,2]");
  EXPECT_EQ(loaded->model.producer, "maker 1.2");
  EXPECT_EQ(loaded->model.ir_version, 10);
}

// Converters to float16 leave such entries.
TEST(LoaderTest, ValueInfoOfAnInitializerMayBeStale) {
  onnx::ModelProto proto = SmallModel();
  SetType(proto.mutable_graph()->add_value_info(), "w", TensorProto::FLOAT16, {4, 2});
  const auto loaded = Load(proto);
  EXPECT_EQ(TypeAndShape(*loaded->graph().FindValue("w")->constant()), "float[2,2]");
}

TEST(LoaderTest, ElementsAreViewsOfTheBytes) {
  onnx::ModelProto proto = SmallModel();
  TensorProto floats = MakeTensor("f", TensorProto::FLOAT, {3});
  for (const float value : {1.f, 2.f, 3.f}) floats.add_float_data(value);
  *proto.mutable_graph()->add_initializer() = floats;
  auto* constant = AddNode(proto.mutable_graph(), "Constant", {}, {"c"});
  *AddAttribute(constant, "value", AttributeProto::TENSOR)->mutable_t() =
      RawTensor("", TensorProto::INT64, {1}, std::string("\5\0\0\0\0\0\0\0", 8));
  const auto loaded = Load(proto);
  const auto is_view = [&](const Tensor& tensor) {
    const auto* data = tensor.data<char>();
    return data >= loaded->bytes.data() && data < loaded->bytes.data() + loaded->bytes.size();
  };
  EXPECT_TRUE(is_view(*loaded->graph().FindValue("w")->constant()));
  const Tensor& f = *loaded->graph().FindValue("f")->constant();
  EXPECT_TRUE(is_view(f));
  EXPECT_THAT(ToDoubles(f).value(), ElementsAre(1, 2, 3));
  const Node* node = loaded->graph().FindValue("c")->producer();
  const Tensor& c = std::get<Tensor>(*node->attribute("value"));
  EXPECT_TRUE(is_view(c));
  EXPECT_THAT(ToInts(c).value(), ElementsAre(5));
}

TEST(LoaderTest, NodesInAnyOrderKeepTheirOrder) {
  onnx::ModelProto proto = SmallModel();
  proto.mutable_graph()->mutable_node()->SwapElements(0, 1);
  const auto loaded = Load(proto);
  EXPECT_EQ(loaded->graph().nodes()[0]->name(), "add");
  EXPECT_EQ(loaded->graph().TopologicalOrder().value()[0]->name(), "relu");
}

TEST(LoaderTest, NodesGetUniqueNames) {
  onnx::ModelProto proto = EmptyModel();
  onnx::GraphProto* graph = proto.mutable_graph();
  SetType(graph->add_input(), "x", TensorProto::FLOAT, {});
  AddNode(graph, "Relu", {"x"}, {"a"});
  AddNode(graph, "Relu", {"x"}, {"b"}, "Relu_0");
  AddNode(graph, "Relu", {"x"}, {"c"}, "Relu_0");
  AddNode(graph, "Neg", {"x"}, {"d"}, "Relu_0");
  const auto loaded = Load(proto);
  Names names;
  for (const Node* node : loaded->graph().nodes()) names.push_back(node->name());
  EXPECT_THAT(names, ElementsAre("Relu_1", "Relu_0", "Relu_0_0", "Relu_0_1"));
}

TEST(LoaderTest, OptionalInputsAndOutputsMayBeLeftOut) {
  onnx::ModelProto proto = EmptyModel();
  onnx::GraphProto* graph = proto.mutable_graph();
  SetType(graph->add_input(), "x", TensorProto::FLOAT, {4});
  AddNode(graph, "Clip", {"x", "", "x", "", ""}, {"y", "", "z", ""});
  const auto loaded = Load(proto);
  const Value* x = loaded->graph().FindValue("x");
  EXPECT_THAT(loaded->graph().nodes()[0]->inputs(), ElementsAre(x, nullptr, x));
  EXPECT_THAT(loaded->graph().nodes()[0]->outputs(),
              ElementsAre(loaded->graph().FindValue("y"), nullptr, loaded->graph().FindValue("z")));
}

TEST(LoaderTest, AttributesOfEveryKind) {
  onnx::ModelProto proto = SmallModel();
  onnx::NodeProto* node = proto.mutable_graph()->mutable_node(0);
  AddAttribute(node, "float", AttributeProto::FLOAT)->set_f(.5);
  AddAttribute(node, "string", AttributeProto::STRING)->set_s("caf\xe9");
  AddAttribute(node, "ints", AttributeProto::INTS)->add_ints(-7);
  AddAttribute(node, "floats", AttributeProto::FLOATS)->add_floats(.25);
  AddAttribute(node, "strings", AttributeProto::STRINGS)->add_strings("s");
  *AddAttribute(node, "tensors", AttributeProto::TENSORS)->add_tensors() =
      RawTensor("", TensorProto::UINT8, {1}, "\7");
  AddAttribute(node, "type", AttributeProto::TYPE_PROTO)
      ->mutable_tp()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(1);
  // proto3 writers omit zero fields; files of IR version 1 omit the attribute's kind.
  AddAttribute(node, "zero", AttributeProto::INT);
  AddAttribute(node, "kindless", AttributeProto::UNDEFINED)->set_i(3);
  const auto loaded = Load(proto);
  Names attributes;
  for (const auto& [name, value] : loaded->graph().nodes()[0]->attributes()) {
    attributes.push_back(absl::StrCat(name, "=", ToString(value)));
  }
  EXPECT_THAT(attributes, ElementsAre("float=0.5", "floats=[0.25]", "ints=[-7]", "kindless=3",
                                      "string='caf\xe9'", "strings=['s']", "tensors=[uint8[1]]",
                                      "type=sequence(float)", "zero=0"));
}

TEST(LoaderTest, InitializersThatAreInputsAreDefaults) {
  onnx::ModelProto proto = SmallModel();
  SetType(proto.mutable_graph()->add_input(), "w", TensorProto::FLOAT, {2, 2});
  const auto loaded = Load(proto);
  const Value* w = loaded->graph().FindValue("w");
  EXPECT_TRUE(w->is_input());
  EXPECT_FALSE(w->is_constant());
  ASSERT_NE(w->constant(), nullptr);
  EXPECT_EQ(loaded->graph().inputs().size(), 2);
  // Up to IR version 3, initializers had to be graph inputs, too.
  proto.set_ir_version(3);
  const auto old = Load(proto);
  EXPECT_TRUE(old->graph().FindValue("w")->is_constant());
  EXPECT_EQ(old->graph().inputs().size(), 1);
}

TEST(LoaderTest, TypesOfInputs) {
  onnx::ModelProto proto = EmptyModel();
  onnx::GraphProto* graph = proto.mutable_graph();
  auto* dims = graph->add_input();
  SetType(dims, "dims", TensorProto::INT64, {7, -1});
  dims->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("batch");
  dims->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
  auto* rankless = graph->add_input();
  rankless->set_name("rankless");
  rankless->mutable_type()->mutable_tensor_type()->set_elem_type(26);
  auto* optional = graph->add_input();
  optional->set_name("optional");
  auto* map =
      optional->mutable_type()->mutable_optional_type()->mutable_elem_type()->mutable_map_type();
  map->set_key_type(TensorProto::STRING);
  map->mutable_value_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(TensorProto::FLOAT16);
  graph->add_input()->set_name("typeless");
  const auto loaded = Load(proto);
  Names types;
  for (const Value* input : loaded->graph().inputs()) types.push_back(ToString(input->type()));
  EXPECT_THAT(types, ElementsAre("int64[7,?,batch,?]", "int2",
                                 "optional(map(string,sequence(tensor(float16))))", "?"));
}

TEST(LoaderTest, ANumberAsNameIsAFixedExtent) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, 1, 1});
  auto* shape = graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("5");
  shape->mutable_dim(1)->set_dim_param("5+s");
  shape->mutable_dim(2)->set_dim_param("99999999999999999999");
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {});
  AddNode(graph, "Relu", {"x"}, {"y"});
  const auto loaded = Load(model);
  const auto& dims = *loaded->graph().inputs()[0]->type().shape;
  EXPECT_EQ(dims[0].value, 5);
  EXPECT_EQ(dims[1].symbol, "5+s");
  EXPECT_FALSE(dims[2].is_fixed());
}

// As TorchScript's exporter writes a module that returns a tensor twice.
TEST(LoaderTest, AnOutputListedTwiceIsOne) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {2});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {2});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {2});
  AddNode(graph, "Relu", {"x"}, {"y"});
  EXPECT_EQ(Load(model)->graph().outputs().size(), 1u);
}

TEST(LoaderTest, OpsetsByDomain) {
  onnx::ModelProto proto = SmallModel();
  proto.mutable_opset_import(0)->set_domain("ai.onnx");
  auto* custom = proto.add_opset_import();
  custom->set_domain("custom");
  custom->set_version(3);
  proto.mutable_graph()->mutable_node(0)->set_domain("custom");
  proto.mutable_graph()->mutable_node(1)->set_domain("ai.onnx");
  AddNode(proto.mutable_graph(), "QuickGelu", {"x"}, {"z"})->set_domain("com.microsoft");
  const auto loaded = Load(proto);
  const auto nodes = loaded->graph().nodes();
  EXPECT_EQ(nodes[0]->qualified_op_type(), "custom.Relu");
  EXPECT_EQ(nodes[0]->opset(), 3);
  EXPECT_EQ(nodes[1]->qualified_op_type(), "Add");
  EXPECT_EQ(nodes[1]->opset(), 20);
  // Domains with a single version: some exporters forget to import them.
  EXPECT_EQ(nodes[2]->opset(), 1);
}

TEST(LoaderTest, SubgraphsReadNamesFromAllGraphsAroundThem) {
  onnx::ModelProto proto = SmallModel();
  onnx::GraphProto* graph = proto.mutable_graph();
  SetType(graph->add_input(), "c", TensorProto::BOOL, {});
  // "outer" comes before the node that computes r, and its innermost graph reads r.
  onnx::NodeProto* outer = AddNode(graph, "If", {"c"}, {"z"}, "outer");
  graph->mutable_node()->SwapElements(0, 2);
  outer = graph->mutable_node(0);
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto* middle = AddSubgraph(outer, branch);
    onnx::NodeProto* inner = AddNode(middle, "If", {"c"}, {"m"}, "inner");
    for (const char* inner_branch : {"then_branch", "else_branch"}) {
      onnx::GraphProto* innermost = AddSubgraph(inner, inner_branch);
      // Inside this graph the name w stands for its own value.
      AddNode(innermost, "Neg", {"r"}, {"w"});
      AddNode(innermost, "Add", {"w", "r"}, {"n"});
      innermost->add_output()->set_name("n");
    }
    middle->add_output()->set_name("m");
  }
  const auto loaded = Load(proto);
  const Node* node = loaded->graph().nodes()[0];
  EXPECT_THAT(node->implicit_inputs(),
              ElementsAre(loaded->graph().FindValue("c"), loaded->graph().FindValue("r"),
                          loaded->graph().FindValue("c"), loaded->graph().FindValue("r")));
  const Graph& middle = Subgraph(node, "then_branch");
  const Graph& innermost = Subgraph(middle.nodes()[0], "else_branch");
  ASSERT_EQ(innermost.captures().size(), 1);
  EXPECT_EQ(innermost.captures()[0]->outer()->outer(), loaded->graph().FindValue("r"));
  EXPECT_EQ(loaded->graph().TopologicalOrder().value().back()->name() == "outer" ||
                loaded->graph().TopologicalOrder().value()[1]->name() == "outer",
            true);
}

TEST(LoaderTest, SubgraphsMayBeDeepButNotTooDeep) {
  for (const int depth : {loader::kMaxNesting - 1, loader::kMaxNesting, 1000}) {
    onnx::ModelProto proto = SmallModel();
    SetType(proto.mutable_graph()->add_input(), "c", TensorProto::BOOL, {});
    onnx::GraphProto* graph = proto.mutable_graph();
    for (int i = 0; i < depth; ++i) {
      graph = AddSubgraph(AddNode(graph, "If", {"c"}, {"z"}), "then_branch");
    }
    const std::string bytes = proto.SerializeAsString();
    const absl::Status status = loader::ParseModel(bytes).status();
    if (depth < loader::kMaxNesting) {
      EXPECT_EQ(status, absl::OkStatus());
    } else {
      EXPECT_EQ(Message(status), "the model: subgraphs are nested more than 100 deep");
    }
  }
}

TEST(LoaderTest, SparseInitializersBecomeDense) {
  onnx::ModelProto proto = SmallModel();
  onnx::SparseTensorProto linear;
  linear.add_dims(2);
  linear.add_dims(3);
  *linear.mutable_values() = MakeTensor("s", TensorProto::INT64, {2});
  linear.mutable_values()->add_int64_data(7);
  linear.mutable_values()->add_int64_data(8);
  onnx::SparseTensorProto rows = linear;
  rows.mutable_values()->set_name("t");
  *linear.mutable_indices() = MakeTensor("", TensorProto::INT64, {2});
  for (const int64_t index : {1, 5}) linear.mutable_indices()->add_int64_data(index);
  *rows.mutable_indices() = MakeTensor("", TensorProto::INT64, {2, 2});
  for (const int64_t index : {0, 1, 1, 2}) rows.mutable_indices()->add_int64_data(index);
  *proto.mutable_graph()->add_sparse_initializer() = linear;
  *proto.mutable_graph()->add_sparse_initializer() = rows;
  const auto loaded = Load(proto);
  for (const char* name : {"s", "t"}) {
    const Tensor& dense = *loaded->graph().FindValue(name)->constant();
    EXPECT_EQ(TypeAndShape(dense), "int64[2,3]");
    EXPECT_THAT(ToInts(dense).value(), ElementsAre(0, 7, 0, 0, 0, 8));
  }
}

TEST(LoaderTest, FieldsOfNewerVersionsAreSkipped) {
  onnx::ModelProto proto = SmallModel();
  proto.set_ir_version(14);
  // Two fields of IR version 11: NodeProto.device_configurations = 10, ModelProto.configuration =
  // 26.
  proto.mutable_graph()->mutable_node(0)->mutable_unknown_fields()->append("\x52\x02\x0a\x00", 4);
  proto.mutable_unknown_fields()->append("\xd2\x01\x02\x0a\x00", 5);
  EXPECT_EQ(Load(proto)->graph().nodes().size(), 2);
}

TEST(LoaderTest, ReadsTensorFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.Write(
      "t.pb",
      RawTensor("t", TensorProto::INT16, {2}, std::string("\1\0\2\0", 4)).SerializeAsString());
  EXPECT_THAT(ToInts(loader::ReadTensorProto(path).value()).value(), ElementsAre(1, 2));
  const std::string bad = folder.Write("bad.pb", "# a text file");
  EXPECT_EQ(Message(loader::ReadTensorProto(bad).status()),
            bad + " is not an ONNX tensor: it is text");
}

}  // namespace
}  // namespace attnrun::testing
