// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_LOADER_H_
#define ATTNRUN_LOADER_LOADER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"
#include "core/mapped_file.h"
#include "graph/graph.h"

namespace attnrun::loader {

// An .onnx file read (ONNX ModelProto): its functions inlined, its initializers views of the mapped
// file, which they keep mapped.
struct Model {
  std::unique_ptr<Graph> graph;
  int64_t ir_version = 0;
  std::string producer;
  // Version by domain; "" is ai.onnx.
  std::map<std::string, int> opsets;
  // What it was read from: its own file first, then those of external data. None if from bytes.
  std::vector<std::shared_ptr<const MappedFile>> files;
};

// Reads and checks a model. Messages begin with the path. kNotFound if the file or external data is
// missing, kInvalidArgument for what is no valid model, kUnimplemented for IR versions and features
// that attnrun does not know. Operators are not looked at.
absl::StatusOr<Model> LoadModel(const std::string& path);

// As LoadModel, from bytes that must outlive the model; external data is refused.
absl::StatusOr<Model> ParseModel(absl::string_view bytes);

// Reads a serialized TensorProto.
absl::StatusOr<Tensor> ReadTensorProto(const std::string& path);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_LOADER_H_
