// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_HOSTILE_HOSTILE_MODEL_H_
#define ATTNRUN_TESTS_HOSTILE_HOSTILE_MODEL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "attnrun/session.h"
#include "loader/model_maker.h"

namespace attnrun::testing {

// A malicious model and the expected error, which names the node if a node is the cause.
struct HostileModel {
  const char* name;
  // Completes a model of IR version 10, opset 20 and a graph with an input x float[2,3] and an
  // output y.
  void (*make)(onnx::ModelProto& model, onnx::GraphProto& graph);
  std::vector<std::string> said;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

// Completes a model as above and writes it to the folder; returns its path.
std::string WriteModel(const TemporaryFolder& folder, decltype(HostileModel::make) make);

inline void PrintTo(const HostileModel& model, std::ostream* out) { *out << model.name; }

onnx::TensorProto Ints(const std::string& name, const std::vector<int64_t>& values);
onnx::TensorProto Floats(const std::string& name, const std::vector<int64_t>& dims,
                         const std::vector<float>& values);
void AddInts(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values);

onnx::TensorProto Scalar(const std::string& name, int64_t value);
void SetText(onnx::NodeProto* node, const std::string& name, const std::string& text);

// Adds the node y = op(x, constants...), named "bad".
onnx::NodeProto* Bad(onnx::GraphProto& graph, const std::string& op,
                     const std::vector<onnx::TensorProto>& constants = {});
// The same without x.
onnx::NodeProto* OfConstants(onnx::GraphProto& graph, const std::string& op,
                             const std::vector<onnx::TensorProto>& constants);
// Gives x another shape.
void Declare(onnx::GraphProto& graph, const std::vector<int64_t>& x);
// Bad() on an x of another shape.
onnx::NodeProto* BadOf(onnx::GraphProto& graph, const std::vector<int64_t>& x,
                       const std::string& op, const std::vector<onnx::TensorProto>& constants = {});

// Loads the model and runs it on zeros, on one thread, with 64 MB for tensors.
absl::Status LoadAndRun(const std::string& path, Engine engine, absl::Duration deadline);

// Loads the model from a file and runs it on zeros on both engines, with a deadline and 64 MB for
// tensors, as a server would for an unknown user. Expects the status and the messages of `model`,
// in few words, after at most three seconds of CPU time and with at most half a gigabyte of memory.
void ExpectRefused(const HostileModel& model);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_HOSTILE_HOSTILE_MODEL_H_
