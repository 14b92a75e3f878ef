// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_LOADER_H_
#define ATTNRUN_LOADER_LOADER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/limits.h"
#include "attnrun/tensor.h"
#include "core/file_bytes.h"
#include "graph/graph.h"

namespace attnrun::loader {

// The contents of an .onnx file (ONNX ModelProto), with functions inlined as LoadOptions say.
// Initializers are views of the file's bytes and keep them in memory.
struct Model {
  std::unique_ptr<Graph> graph;
  int64_t ir_version = 0;
  std::string producer;
  std::string domain;
  int64_t version = 0;
  std::string description;
  std::map<std::string, std::string> metadata;
  // Opset version by domain; "" for ai.onnx.
  std::map<std::string, int> opsets;
  // The files read: the model's own first, then those of external data. Empty for a model from
  // bytes.
  std::vector<std::shared_ptr<const FileBytes>> files;
};

// A call of a model-local function.
struct FunctionCall {
  std::string domain;
  std::string name;
  // The version of the domain.
  int opset = 0;
  // False for an input that is left out.
  std::vector<bool> inputs;
  int outputs = 0;
  // Those of the call, and the function's defaults of the others.
  AttributeMap attributes;
};

struct LoadOptions {
  // True if the call should stay a node, because there is an operator that it fits. Not asked for
  // calls that pass a graph as an attribute. If empty, all calls are inlined.
  std::function<bool(const FunctionCall& call)> is_operator;
  // Holds for the model's own file and for external data.
  FileAccess access = FileAccess::kMap;
  Limits limits = {};
};

// Reads and checks a model. kNotFound: the file or its external data is missing. kInvalidArgument:
// the model is not valid. kUnimplemented: an IR version or feature that attnrun does not know. Does
// not check operators. Messages begin with the path.
absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options = {});

// As LoadModel, from bytes that must outlive the model. Refuses external data.
absl::StatusOr<Model> ParseModel(absl::string_view bytes, const LoadOptions& options = {});

// Reads a serialized TensorProto. Errors as in LoadModel.
absl::StatusOr<Tensor> ReadTensorProto(const std::string& path);

// Reads the TensorProto, SequenceProto or OptionalProto of a value that is declared so. Errors as
// in LoadModel.
absl::StatusOr<Tensor> ReadValueProto(const std::string& path, const ValueInfo& declared);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_LOADER_H_
