// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_FAILING_MODELS_H_
#define ATTNRUN_TESTS_SESSION_FAILING_MODELS_H_

#include <cstring>
#include <string>
#include <vector>

#include "attnrun/tensor.h"
#include "loader/model_maker.h"

// Small models from x to y, float[1, 6, 16], for tests in which memory runs out.
namespace attnrun::testing {

inline constexpr int64_t kFailingLength = 6;
inline constexpr int64_t kFailingWidth = 16;

inline void AddWeight(onnx::GraphProto* graph, const std::string& name,
                      const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::string raw(count * sizeof(float), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const float element = static_cast<float>(i * 7 % 11 - 5) / 16;
    std::memcpy(raw.data() + i * sizeof(float), &element, sizeof(float));
  }
  *graph->add_initializer() = RawTensor(name, onnx::TensorProto::FLOAT, shape, raw);
}

// A graph with an input x and an output y.
inline onnx::GraphProto* AddGraph(onnx::ModelProto& model) {
  onnx::GraphProto* graph = model.mutable_graph();
  const std::vector<int64_t> shape = {1, kFailingLength, kFailingWidth};
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, shape);
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, shape);
  return graph;
}

// One layer of a transformer, with one head: attention, a residual, LayerNormalization, Gelu.
inline onnx::ModelProto LayerModel() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = AddGraph(model);
  for (const std::string name : {"wq", "wk", "wv", "wo"}) {
    AddWeight(graph, name, {kFailingWidth, kFailingWidth});
  }
  AddWeight(graph, "scale", {kFailingWidth});
  AddWeight(graph, "root", {1});
  AddNode(graph, "MatMul", {"x", "wq"}, {"q"});
  AddNode(graph, "MatMul", {"x", "wk"}, {"k"});
  AddNode(graph, "MatMul", {"x", "wv"}, {"v"});
  onnx::NodeProto* turn = AddNode(graph, "Transpose", {"k"}, {"kt"});
  onnx::AttributeProto* order = AddAttribute(turn, "perm", onnx::AttributeProto::INTS);
  for (const int64_t axis : {0, 2, 1}) order->add_ints(axis);
  AddNode(graph, "MatMul", {"q", "kt"}, {"products"});
  AddNode(graph, "Mul", {"products", "root"}, {"scores"});
  AddNode(graph, "Softmax", {"scores"}, {"probabilities"});
  AddNode(graph, "MatMul", {"probabilities", "v"}, {"mixed"});
  AddNode(graph, "MatMul", {"mixed", "wo"}, {"projected"});
  AddNode(graph, "Add", {"projected", "x"}, {"sum"});
  AddNode(graph, "LayerNormalization", {"sum", "scale"}, {"normal"});
  AddNode(graph, "Gelu", {"normal"}, {"y"});
  return model;
}

// A Loop around a call of a function.
inline onnx::ModelProto LoopModel() {
  onnx::ModelProto model = EmptyModel();
  auto* domain = model.add_opset_import();
  domain->set_domain("local");
  domain->set_version(1);
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("Twice");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(20);
  onnx::NodeProto* add = function->add_node();
  add->set_op_type("Add");
  for (int i = 0; i < 2; ++i) add->add_input("a");
  add->add_output("b");

  onnx::GraphProto* graph = AddGraph(model);
  onnx::TensorProto& trips = *graph->add_initializer();
  trips = MakeTensor("trips", onnx::TensorProto::INT64, {});
  trips.add_int64_data(3);
  onnx::NodeProto* loop = AddNode(graph, "Loop", {"trips", "", "x"}, {"y"});
  onnx::GraphProto* body = AddSubgraph(loop, "body");
  const std::vector<int64_t> shape = {1, kFailingLength, kFailingWidth};
  SetType(body->add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(body->add_input(), "go", onnx::TensorProto::BOOL, {});
  SetType(body->add_input(), "before", onnx::TensorProto::FLOAT, shape);
  SetType(body->add_output(), "still", onnx::TensorProto::BOOL, {});
  SetType(body->add_output(), "after", onnx::TensorProto::FLOAT, shape);
  AddNode(body, "Identity", {"go"}, {"still"});
  AddNode(body, "Twice", {"before"}, {"twice"})->set_domain("local");
  AddNode(body, "Tanh", {"twice"}, {"after"});
  return model;
}

inline TensorMap FailingInputs() {
  std::vector<float> elements(kFailingLength * kFailingWidth);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 13) / 8;
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({1, kFailingLength, kFailingWidth}, elements);
  return inputs;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_FAILING_MODELS_H_
