// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_MODEL_INFO_H_
#define ATTNRUN_MODEL_INFO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "attnrun/data_type.h"
#include "attnrun/export.h"

namespace attnrun {

// One extent of a declared shape: a number, a name, or unknown. A name stands for the same number
// in all inputs of one run.
struct Dim {
  // -1 if the extent is a name or unknown.
  int64_t value = -1;
  std::string symbol;

  bool is_fixed() const { return value >= 0; }
  friend bool operator==(const Dim& a, const Dim& b) {
    return a.value == b.value && a.symbol == b.symbol;
  }
};

// "384", "batch" or "?".
ATTNRUN_EXPORT std::string ToString(const Dim& dim);

// The kinds of a graph's values: tensors, sequences of tensors, and optionals of both, which may
// lack their element.
enum class ValueKind : uint8_t { kTensor, kSequence, kOptionalTensor, kOptionalSequence };

// "tensor", "sequence", "optional tensor" or "optional sequence".
ATTNRUN_EXPORT absl::string_view Name(ValueKind kind);

constexpr bool IsOptional(ValueKind kind) {
  return kind == ValueKind::kOptionalTensor || kind == ValueKind::kOptionalSequence;
}

// True for a sequence and an optional of one.
constexpr bool HoldsSequence(ValueKind kind) {
  return kind == ValueKind::kSequence || kind == ValueKind::kOptionalSequence;
}

// A graph input or output as the model declares it.
struct ValueInfo {
  std::string name;
  // Type and shape are those of the tensor, or of each tensor of a sequence.
  DataType type = DataType::kUndefined;
  // Absent if the model does not state the rank.
  std::optional<std::vector<Dim>> shape;
  // True for an input that the caller may leave out: an initializer of the same name is its
  // default.
  bool has_default = false;
  ValueKind kind = ValueKind::kTensor;
};

// "float[batch,128]", "sequence(float[batch,128])", "optional(float)".
ATTNRUN_EXPORT std::string TypeAndShape(const ValueInfo& info);

// An operator of a model that attnrun cannot run.
struct UnsupportedOp {
  std::string domain;
  std::string op_type;
  int opset = 0;
  std::string first_node;
  int64_t count = 0;
  // The part that is not covered: the operator, its version, an attribute or the number of inputs.
  std::string reason;
};

// An operator that attnrun can run.
struct SupportedOp {
  // "" for ai.onnx.
  std::string domain;
  std::string op_type;
  // The versions covered, in ascending order, each named by the opset that introduced it.
  std::vector<int> since;
  // There is an optimized kernel. Element types and shapes that it does not cover run on the
  // reference code, as does every operator without a kernel; a profile names the nodes.
  bool has_kernel = false;
  // The optimizer replaces the operator by others, where nothing stands in the way, so that its own
  // kernel or reference code rarely runs.
  bool is_expanded = false;
};

// The opsets of ai.onnx that attnrun reads, both included.
struct OpsetRange {
  int oldest = 0;
  int newest = 0;
};

// A rewrite of the optimizer.
struct PassInfo {
  // The name in Rewrite::pass and SessionOptions::disabled_passes. Several rewrites may share one.
  std::string name;
  // The phase that it belongs to. The rewrites of a phase run until none applies any more.
  std::string phase;
  // One sentence.
  std::string summary;
  // The operators that it starts from ("MatMul", "attnrun.Attention"); empty: it looks at all
  // nodes.
  std::vector<std::string> anchors;
  // Earlier names, which SessionOptions still accepts. Several rewrites may share one.
  std::vector<std::string> aliases;
  // The source file that defines it and draws the graph before and after, from the root of
  // attnrun's sources on.
  std::string file;
};

// Facts about a model file, read without preparing it to run.
struct ModelInfo {
  int64_t ir_version = 0;
  std::string producer;
  // The exporter's name space for the model, the model's own version and a text about it; "" or 0
  // if the file does not say.
  std::string domain;
  int64_t model_version = 0;
  std::string description;
  // Notes by key (ONNX's metadata_props): labels, authors, preprocessing. Not interpreted.
  std::map<std::string, std::string> metadata;
  // Opset version by domain; "" for ai.onnx.
  std::map<std::string, int> opsets;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  // Number of nodes by op type, subgraphs included. An op outside ai.onnx carries its domain:
  // "com.microsoft.BiasGelu".
  std::map<std::string, int64_t> op_counts;
  // Totals over all initializers and constants, subgraphs included.
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  std::vector<UnsupportedOp> unsupported;
};

}  // namespace attnrun

#endif  // ATTNRUN_MODEL_INFO_H_
