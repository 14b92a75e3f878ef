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
  ValueKind kind = ValueKind::kTensor;
  // Element type and shape of the tensor, or of each tensor of a sequence. kUndefined if not known.
  DataType element = DataType::kUndefined;
  // Absent if not even the rank is known.
  std::optional<std::vector<Dim>> shape;
  // For values of no such kind, "map(int64,tensor(float))" and the like; empty for the others.
  std::string other;
};

// "float[batch,?,384]", "float" without a shape, "?" when unknown; as TypeAndShape(ValueInfo).
std::string ToString(const Type& type);

// The type of a tensor whose shape is fixed.
Type TypeOf(const Tensor& tensor);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_TYPE_H_
