// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_SQUARE_PRODUCT_H_
#define ATTNRUN_TESTS_SESSION_SQUARE_PRODUCT_H_

#include <string>
#include <vector>

#include "attnrun/tensor.h"
#include "loader/model_maker.h"

namespace attnrun::testing {

// y = x·W, all of `rows` x `rows` floats; those of W consist of one byte.
inline std::string SquareProduct(int64_t rows, char byte = '\x3e') {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {rows, rows});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {rows, rows});
  *graph->add_initializer() = RawTensor("W", onnx::TensorProto::FLOAT, {rows, rows},
                                        std::string(rows * rows * sizeof(float), byte));
  AddNode(graph, "MatMul", {"x", "W"}, {"y"}, "product");
  return model.SerializeAsString();
}

inline TensorMap SquareOfOnes(int64_t rows) {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({rows, rows}, std::vector<float>(rows * rows, 1));
  return inputs;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_SQUARE_PRODUCT_H_
