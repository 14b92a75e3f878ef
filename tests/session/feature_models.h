// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_FEATURE_MODELS_H_
#define ATTNRUN_TESTS_SESSION_FEATURE_MODELS_H_

#include <string>
#include <utility>
#include <vector>

#include "attnrun/generator.h"
#include "capi/counting_decoder.h"
#include "session/cache_models.h"

// An encoder of features, its decoder, and a request to both.
namespace attnrun::testing {

// Makes one state of two features, and takes a mask.
inline std::string Encoder() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "input_features", onnx::TensorProto::FLOAT, {1, -1, 4});
  Declare(graph->add_input(), "attention_mask", onnx::TensorProto::INT64, {1, -1});
  Declare(graph->add_output(), "last_hidden_state", onnx::TensorProto::FLOAT, {1, -2, 4});
  for (const auto& [name, number] :
       {std::pair("begin", 0), {"end", 1 << 30}, {"axis", 1}, {"step", 2}}) {
    AddInts(graph, name, {1}, {number});
  }
  AddIntAttribute(AddNode(graph, "Cast", {"attention_mask"}, {"mask"}), "to",
                  onnx::TensorProto::FLOAT);
  AddNode(graph, "Unsqueeze", {"mask", "step"}, {"factors"});
  AddNode(graph, "Mul", {"input_features", "factors"}, {"features"});
  AddNode(graph, "Slice", {"features", "begin", "end", "axis", "step"}, {"last_hidden_state"});
  return model.SerializeAsString();
}

// A counting decoder that declares its states and the mask of the features to be as long.
inline std::string DecoderOfStates() {
  onnx::ModelProto model;
  model.ParseFromString(CountingDecoder());
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "encoder_hidden_states", onnx::TensorProto::FLOAT, {1, -1, 4});
  Declare(graph->add_input(), "encoder_attention_mask", onnx::TensorProto::INT64, {1, -1});
  graph->mutable_node(0)->set_output(0, "rows");
  AddInts(graph, "axes", {2}, {0, 1});
  AddNode(graph, "ReduceSum", {"encoder_hidden_states"}, {"states"});
  AddNode(graph, "ReduceSum", {"encoder_attention_mask", "axes"}, {"ones"});
  AddIntAttribute(AddNode(graph, "Cast", {"ones"}, {"count"}), "to", onnx::TensorProto::FLOAT);
  AddNode(graph, "Add", {"states", "rows"}, {"moved"});
  AddNode(graph, "Mul", {"moved", "count"}, {"logits"});
  return model.SerializeAsString();
}

inline GenerationRequest RequestOfFeatures() {
  GenerationRequest request;
  request.encoder_inputs["input_features"] =
      *Tensor::Of<float>({1, 6, 4}, std::vector<float>(24, 0.5F));
  return request;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_FEATURE_MODELS_H_
