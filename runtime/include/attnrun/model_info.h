// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_MODEL_INFO_H_
#define ATTNRUN_MODEL_INFO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnrun/data_type.h"

namespace attnrun {

// One extent of a declared shape: a number, or a name that stands for the same number wherever it
// occurs among the inputs of one run, or neither.
struct Dim {
  // -1 unless fixed.
  int64_t value = -1;
  std::string symbol;

  bool is_fixed() const { return value >= 0; }
  friend bool operator==(const Dim& a, const Dim& b) {
    return a.value == b.value && a.symbol == b.symbol;
  }
};

// "384", "batch" or "?".
std::string ToString(const Dim& dim);

// A graph input or output as the model declares it.
struct ValueInfo {
  std::string name;
  DataType type = DataType::kUndefined;
  // Absent where the model does not even state the rank.
  std::optional<std::vector<Dim>> shape;
  // An input that may be left out, because an initializer of the same name gives its value.
  bool has_default = false;
};

// "float[batch,128]".
std::string TypeAndShape(const ValueInfo& info);

// An operator of a model that attnrun cannot run.
struct UnsupportedOp {
  std::string domain;
  std::string op_type;
  int opset = 0;
  std::string first_node;
  int64_t count = 0;
  // What is not covered: the operator, its version, an attribute or the number of inputs.
  std::string reason;
};

// An operator that attnrun can run.
struct SupportedOp {
  // "" is ai.onnx.
  std::string domain;
  std::string op_type;
  // The versions covered, each by the opset that introduced it, ascending.
  std::vector<int> since;
};

// What a file says about itself.
struct ModelInfo {
  int64_t ir_version = 0;
  std::string producer;
  // Version by domain; "" is ai.onnx.
  std::map<std::string, int> opsets;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  // Nodes by op type, subgraphs included; an op outside ai.onnx with its domain
  // ("com.microsoft.BiasGelu").
  std::map<std::string, int64_t> op_counts;
  // Elements and bytes of all initializers and constants.
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  std::vector<UnsupportedOp> unsupported;
};

}  // namespace attnrun

#endif  // ATTNRUN_MODEL_INFO_H_
