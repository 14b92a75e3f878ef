// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_TYPE_H_
#define ATTNRUN_GRAPH_TYPE_H_

#include <optional>
#include <string>
#include <vector>

#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun {

// The type of a value as far as it is known before a run (ONNX TypeProto).
struct Type {
  // kUndefined if not known.
  DataType element = DataType::kUndefined;
  // Absent if not even the rank is known.
  std::optional<std::vector<Dim>> shape;
  // For values that are not tensors, "sequence(tensor(float))" and the like; empty for tensors.
  std::string other;
};

// "float[batch,?,384]", "float" without a shape, "?" when unknown.
std::string ToString(const Type& type);

// The type of a tensor whose shape is fixed.
Type TypeOf(const Tensor& tensor);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_TYPE_H_
