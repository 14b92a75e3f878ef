// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_CAPI_MODELS_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_CAPI_MODELS_H_

#include <string>
#include <vector>

#include "loader/model_maker.h"

namespace attnrun::testing {

inline void DeclareRows(onnx::ValueInfoProto* value, const std::string& name,
                        const std::string& length) {
  SetType(value, name, onnx::TensorProto::FLOAT, {1, 1});
  auto* shape = value->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  if (!length.empty()) shape->mutable_dim(1)->set_dim_param(length);
}

// present = Concat(past, x) along axis 1; sum [batch, 1] is that of present.
inline onnx::ModelProto SumModel() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  DeclareRows(graph->add_input(), "x", "new");
  DeclareRows(graph->add_input(), "past.0.key", "past");
  DeclareRows(graph->add_output(), "sum", "");
  DeclareRows(graph->add_output(), "present.0.key", "total");
  auto* axes = graph->add_initializer();
  *axes = MakeTensor("axes", onnx::TensorProto::INT64, {1});
  axes->add_int64_data(1);
  AddIntAttribute(AddNode(graph, "Concat", {"past.0.key", "x"}, {"present.0.key"}), "axis", 1);
  AddNode(graph, "ReduceSum", {"present.0.key", "axes"}, {"sum"});
  return model;
}

// y = op(x) for an x of any shape.
inline onnx::ModelProto OneNodeModel(const std::string& op, int type) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  onnx::ValueInfoProto* x = graph->add_input();
  x->set_name("x");
  x->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  graph->add_output()->set_name("y");
  AddNode(graph, op, {"x"}, {"y"}, "node");
  return model;
}

// The models whose sessions the target calls.
inline const std::vector<std::string>& CapiModels() {
  static const auto& models = *new std::vector<std::string>{
      SmallModel().SerializeAsString(), SumModel().SerializeAsString(),
      OneNodeModel("Softmax", onnx::TensorProto::FLOAT).SerializeAsString(),
      OneNodeModel("Identity", onnx::TensorProto::STRING).SerializeAsString(),
      OneNodeModel("NonZero", onnx::TensorProto::FLOAT).SerializeAsString()};
  return models;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_CAPI_MODELS_H_
