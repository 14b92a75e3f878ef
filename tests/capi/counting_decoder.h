// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_CAPI_COUNTING_DECODER_H_
#define ATTNRUN_TESTS_CAPI_COUNTING_DECODER_H_

#include <string>

#include "loader/model_maker.h"

namespace attnrun::testing {

// A decoder without a cache and of 8 tokens: the most probable one behind i is i + 1, and the next
// i + 2, modulo 8.
inline std::string CountingDecoder() {
  constexpr int kVocabulary = 8;
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, 1});
  SetType(graph->add_output(), "logits", onnx::TensorProto::FLOAT, {1, 1, kVocabulary});
  for (onnx::ValueInfoProto* value : {graph->mutable_input(0), graph->mutable_output(0)}) {
    auto* shape = value->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(0)->set_dim_param("batch");
    shape->mutable_dim(1)->set_dim_param("sequence");
  }
  onnx::TensorProto& table = *graph->add_initializer();
  table = MakeTensor("table", onnx::TensorProto::FLOAT, {kVocabulary, kVocabulary});
  for (int i = 0; i < kVocabulary; ++i) {
    for (int j = 0; j < kVocabulary; ++j) {
      const int step = (j - i + kVocabulary) % kVocabulary;
      table.add_float_data(step == 1 ? 4.0F : step == 2 ? 3.0F : 0.0F);
    }
  }
  AddNode(graph, "Gather", {"table", "input_ids"}, {"logits"});
  return model.SerializeAsString();
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_CAPI_COUNTING_DECODER_H_
