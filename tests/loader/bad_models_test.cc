// SPDX-License-Identifier: Apache-2.0
// Mistakes in a file: each row puts one into a small model and states the expected message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/loader.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::TensorProto;

struct Mistake {
  const char* name;
  void (*make)(ModelProto& model, GraphProto& graph);
  const char* message;
};

class BadModelTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(BadModelTest, IsRefused) {
  ModelProto model = SmallModel();
  GetParam().make(model, *model.mutable_graph());
  const TemporaryFolder folder;
  const std::string path = folder.Write("model.onnx", model.SerializeAsString());
  EXPECT_EQ(Message(loader::LoadModel(path).status()),
            absl::StrCat(path, ": ", GetParam().message));
}

constexpr Mistake kMistakes[] = {
    {"NoGraph", [](ModelProto& m, GraphProto&) { m.clear_graph(); },
     "expected a model with a graph, but it has none"},
    {"NoIrVersion", [](ModelProto& m, GraphProto&) { m.clear_ir_version(); },
     "expected a model that states its IR version, but found none"},
    {"OldIrVersion", [](ModelProto& m, GraphProto&) { m.set_ir_version(2); },
     "expected IR version 3 to 14, but found 2"},
    {"NewIrVersion", [](ModelProto& m, GraphProto&) { m.set_ir_version(15); },
     "expected IR version 3 to 14, but found 15"},
    {"NoOpsets", [](ModelProto& m, GraphProto&) { m.clear_opset_import(); },
     "the model imports no opset"},
    {"BadOpset", [](ModelProto& m, GraphProto&) { m.mutable_opset_import(0)->set_version(-1); },
     "expected a version of 1 or more for the opset of domain '', but found -1"},
    {"MissingImport", [](ModelProto&, GraphProto& g) { g.mutable_node(0)->set_domain("custom"); },
     "node 'relu' (Relu): the model imports no opset for its domain 'custom'"},
    {"MissingDefaultImport",
     [](ModelProto& m, GraphProto&) { m.mutable_opset_import(0)->set_domain("custom"); },
     "node 'relu' (Relu): the model imports no opset for its domain 'ai.onnx'"},

    {"Cycle", [](ModelProto&, GraphProto& g) { g.mutable_node(0)->set_input(0, "y"); },
     "the graph has a cycle: node 'relu' (Relu) reads from node 'add' (Add) reads from node "
     "'relu' (Relu)"},
    {"SelfCycleThroughSubgraph",
     [](ModelProto&, GraphProto& g) {
       GraphProto* body = AddSubgraph(g.mutable_node(0), "body");
       AddNode(body, "Neg", {"r"}, {"n"});
     },
     "the graph has a cycle: node 'relu' (Relu) reads from node 'relu' (Relu)"},
    {"TwoNodesDefine", [](ModelProto&, GraphProto& g) { g.mutable_node(1)->set_output(0, "r"); },
     "the name 'r' is defined twice: by node 'relu' (Relu) and by node 'add' (Add)"},
    {"OneNodeDefinesTwice", [](ModelProto&, GraphProto& g) { g.mutable_node(0)->add_output("r"); },
     "node 'relu' (Relu): the name 'r' is defined twice"},
    {"InputAndNodeDefine",
     [](ModelProto&, GraphProto& g) { g.mutable_node(0)->set_output(0, "x"); },
     "the name 'x' is defined twice: by a graph input and by node 'relu' (Relu)"},
    {"InitializerAndNodeDefine",
     [](ModelProto&, GraphProto& g) { g.mutable_node(0)->set_output(0, "w"); },
     "the name 'w' is defined twice: by an initializer and by node 'relu' (Relu)"},
    {"TwoInitializersDefine",
     [](ModelProto&, GraphProto& g) {
       const TensorProto copy = g.initializer(0);
       *g.add_initializer() = copy;
     },
     "initializer 'w': the name 'w' is defined twice: by an initializer and by another "
     "initializer"},
    {"TwoInputsDefine", [](ModelProto&, GraphProto& g) { g.add_input()->set_name("x"); },
     "the name 'x' is defined twice: by a graph input and by another graph input"},
    {"NothingDefinesInput",
     [](ModelProto&, GraphProto& g) { g.mutable_node(1)->set_input(1, "q"); },
     "node 'add' (Add): nothing defines its input 1 'q' (no node, graph input or initializer)"},
    {"NothingDefinesOutput", [](ModelProto&, GraphProto& g) { g.mutable_output(0)->set_name("q"); },
     "nothing defines the graph output 'q' (no node, input or initializer)"},
    {"NamelessInput", [](ModelProto&, GraphProto& g) { g.add_input(); },
     "graph input 1 has no name"},
    {"NamelessInitializer",
     [](ModelProto&, GraphProto& g) { g.mutable_initializer(0)->clear_name(); },
     "initializer '': it has no name"},
    {"NoOpType", [](ModelProto&, GraphProto& g) { g.mutable_node(0)->clear_op_type(); },
     "node 'relu' () has no op type"},
    {"NothingDefinesNameInSubgraph",
     [](ModelProto&, GraphProto& g) {
       GraphProto* body = AddSubgraph(g.mutable_node(1), "body");
       AddNode(body, "Neg", {"q"}, {"n"}, "neg");
     },
     "node 'add' (Add): attribute 'body': node 'neg' (Neg): nothing defines its input 0 'q' (no "
     "node, graph input or initializer)"},
    // A graph does not see names of the graphs inside it.
    {"NameOfSubgraph",
     [](ModelProto&, GraphProto& g) {
       GraphProto* body = AddSubgraph(g.mutable_node(0), "body");
       AddNode(body, "Neg", {"x"}, {"n"}, "neg");
       g.mutable_node(1)->set_input(1, "n");
     },
     "node 'add' (Add): nothing defines its input 1 'n' (no node, graph input or initializer)"},

    {"InitializerTooShort",
     [](ModelProto&, GraphProto& g) { g.mutable_initializer(0)->mutable_raw_data()->resize(15); },
     "initializer 'w': float[2,2] needs 16 bytes, but there are 15"},
    {"InitializerDims",
     [](ModelProto&, GraphProto& g) { g.mutable_initializer(0)->set_dims(0, 3); },
     "initializer 'w': float[3,2] needs 24 bytes, but there are 16"},
    {"NegativeDims", [](ModelProto&, GraphProto& g) { g.mutable_initializer(0)->set_dims(0, -2); },
     "initializer 'w': shape [-2,2] has a negative extent"},
    {"OverflowingDims",
     [](ModelProto&, GraphProto& g) { g.mutable_initializer(0)->set_dims(0, INT64_MAX / 2 + 1); },
     "initializer 'w': shape [4611686018427387904,2] has more elements than 64 bits can count"},
    {"UnknownElementType",
     [](ModelProto&, GraphProto& g) { g.mutable_initializer(0)->set_data_type(99); },
     "initializer 'w': expected an element type of 1 to 26, but found 99"},
    {"InitializerAgainstInput",
     [](ModelProto&, GraphProto& g) { SetType(g.add_input(), "w", TensorProto::INT64, {2, 2}); },
     "initializer 'w': 'w' is declared int64[2,2], but its data is float[2,2]"},
    {"ValueInfoAgainstOutput",
     [](ModelProto&, GraphProto& g) { SetType(g.add_value_info(), "y", TensorProto::INT32, {2}); },
     "'y' is declared twice, as float[2,2] and as int32[2]"},
    {"NegativeInputDim",
     [](ModelProto&, GraphProto& g) { SetType(g.mutable_input(0), "x", TensorProto::FLOAT, {-2}); },
     "graph input 'x': expected an extent of 0 or more, but found -2"},
    {"UnknownInputType",
     [](ModelProto&, GraphProto& g) { SetType(g.mutable_input(0), "x", 77, {2}); },
     "graph input 'x': expected an element type of 1 to 26, but found 77"},

    {"AttributeWithoutValue",
     [](ModelProto&, GraphProto& g) { g.mutable_node(0)->add_attribute()->set_name("a"); },
     "node 'relu' (Relu): attribute 'a': it has no value"},
    {"AttributeWithoutTensor",
     [](ModelProto&, GraphProto& g) {
       AddAttribute(g.mutable_node(0), "a", AttributeProto::TENSOR);
     },
     "node 'relu' (Relu): attribute 'a': it is declared tensor, but holds nothing"},
    {"AttributeOfOtherKind",
     [](ModelProto&, GraphProto& g) {
       AddAttribute(g.mutable_node(0), "a", AttributeProto::INT)->set_s("three");
     },
     "node 'relu' (Relu): attribute 'a': it is declared int, but holds string"},
    {"AttributeWithTwoValues",
     [](ModelProto&, GraphProto& g) {
       auto* attribute = AddAttribute(g.mutable_node(0), "a", AttributeProto::INT);
       attribute->set_i(1);
       attribute->add_ints(2);
     },
     "node 'relu' (Relu): attribute 'a': expected one value, but found both int and ints"},
    {"AttributeTwice",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(g.mutable_node(0), "a", 1);
       AddIntAttribute(g.mutable_node(0), "a", 1);
     },
     "node 'relu' (Relu): attribute 'a': it is given twice"},
    {"AttributeWithoutName",
     [](ModelProto&, GraphProto& g) { AddIntAttribute(g.mutable_node(0), "", 1); },
     "node 'relu' (Relu): attribute '': it has no name"},
    {"ReferenceOutsideFunction",
     [](ModelProto&, GraphProto& g) {
       AddAttribute(g.mutable_node(0), "a", AttributeProto::INT)->set_ref_attr_name("b");
     },
     "node 'relu' (Relu): attribute 'a': it refers to attribute 'b' of a function, but is not "
     "inside one"},
    {"ListOfGraphs",
     [](ModelProto&, GraphProto& g) {
       AddAttribute(g.mutable_node(0), "a", AttributeProto::GRAPHS)->add_graphs();
     },
     "node 'relu' (Relu): attribute 'a': attributes of kind graphs are not supported"},
    {"SparseIndexOutOfRange",
     [](ModelProto&, GraphProto& g) {
       auto* sparse = g.add_sparse_initializer();
       sparse->add_dims(2);
       *sparse->mutable_values() = RawTensor("s", TensorProto::UINT8, {1}, "\1");
       *sparse->mutable_indices() = RawTensor("", TensorProto::UINT8, {1}, "\2");
     },
     "sparse initializer 's': expected ascending sparse indices below 2, but found 2 after -1"},
};

INSTANTIATE_TEST_SUITE_P(All, BadModelTest, ::testing::ValuesIn(kMistakes),
                         [](const auto& info) { return info.param.name; });

TEST(BadFileTest, OtherFilesAreNamedAsSuch) {
  const TemporaryFolder folder;
  const std::string model = SmallModel().SerializeAsString();
  const std::pair<std::string, std::string> cases[] = {
      {"", "it is empty"},
      {"import torch\n", "it is text"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
       "it is a Git LFS pointer; 'git lfs pull' fetches the file itself"},
      {"PK\3\4\24\0\0\0", "the data at byte 2 is not a field of a protobuf message"},
      {model.substr(0, 30),
       "at byte 2 it is truncated or damaged: 112 bytes should follow, but "
       "there are 26"},
      {std::string("\x08\x0a\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14),
       "at byte 3 it is damaged: a number does not end"},
      {"\x08\x0a\x3a\x02\x12\x07",
       "at byte 4 it is truncated or damaged: 7 bytes should follow, "
       "but there are 0"},
  };
  for (const auto& [bytes, message] : cases) {
    const std::string path = folder.Write("file.onnx", bytes);
    const absl::Status status = loader::LoadModel(path).status();
    EXPECT_EQ(Message(status), absl::StrCat(path, " is not an ONNX model: ", message));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(BadFileTest, PathsWithoutAFileAreErrors) {
  const TemporaryFolder folder;
  const std::string none = folder.path("none.onnx");
  const absl::Status missing = loader::LoadModel(none).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(missing), none + ": there is no such file");
  const std::string itself = folder.path("");
  EXPECT_EQ(Message(loader::LoadModel(itself).status()),
            itself + ": expected a file, but this is a folder");
}

}  // namespace
}  // namespace attnrun::testing
