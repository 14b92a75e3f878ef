// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_LOADER_MODEL_MAKER_H_
#define ATTNRUN_TESTS_LOADER_MODEL_MAKER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "onnx.pb.h"
#include "support/temporary_folder.h"

namespace attnrun::testing {

using Names = std::vector<std::string>;

inline onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op_type,
                                const Names& inputs, const Names& outputs,
                                const std::string& name = "") {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op_type);
  node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

inline void SetType(onnx::ValueInfoProto* info, const std::string& name, int type,
                    const std::vector<int64_t>& dims) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

inline onnx::TensorProto MakeTensor(const std::string& name, int type,
                                    const std::vector<int64_t>& dims) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

inline onnx::TensorProto RawTensor(const std::string& name, int type,
                                   const std::vector<int64_t>& dims, const std::string& raw) {
  onnx::TensorProto tensor = MakeTensor(name, type, dims);
  tensor.set_raw_data(raw);
  return tensor;
}

inline onnx::AttributeProto* AddAttribute(onnx::NodeProto* node, const std::string& name,
                                          onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

inline void AddIntAttribute(onnx::NodeProto* node, const std::string& name, int64_t value) {
  AddAttribute(node, name, onnx::AttributeProto::INT)->set_i(value);
}

inline onnx::GraphProto* AddSubgraph(onnx::NodeProto* node, const std::string& name) {
  return AddAttribute(node, name, onnx::AttributeProto::GRAPH)->mutable_g();
}

// A model of IR version 10 and opset 20 without a graph.
inline onnx::ModelProto EmptyModel() {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(20);
  return model;
}

// y = Add(Relu(x), w); x and y are float[2,2], w is stored as raw data.
inline onnx::ModelProto SmallModel() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {2, 2});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {2, 2});
  *graph->add_initializer() =
      RawTensor("w", onnx::TensorProto::FLOAT, {2, 2}, std::string(16, '\x3f'));
  AddNode(graph, "Relu", {"x"}, {"r"}, "relu");
  AddNode(graph, "Add", {"r", "w"}, {"y"}, "add");
  return model;
}

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_LOADER_MODEL_MAKER_H_
