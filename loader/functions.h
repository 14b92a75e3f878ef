// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_FUNCTIONS_H_
#define ATTNRUN_LOADER_FUNCTIONS_H_

#include <map>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/hash_map.h"
#include "loader/scope.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// "" for "ai.onnx", which names the same domain; other domains unchanged.
std::string NormalizeDomain(const std::string& domain);

// The opset version of each imported domain; the highest if a domain is imported twice.
absl::StatusOr<std::map<std::string, int>> ReadOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

// The opset of `domain` that a function body or the main graph imports. A domain that a body does
// not import has the model's version. com.microsoft need not be imported, since it has only version
// 1.
absl::StatusOr<int> FindOpset(const Frame& frame, const std::string& domain);

// "function 'pkg.Gelu'".
std::string Describe(const onnx::FunctionProto& function);

// The model-local functions (ONNX FunctionProto) by domain, name and overload.
class FunctionTable {
 public:
  // kInvalidArgument if a function is defined twice.
  absl::Status Add(const google::protobuf::RepeatedPtrField<onnx::FunctionProto>& functions);

  // The function that a node calls; null if the node applies an operator.
  const onnx::FunctionProto* Find(const onnx::NodeProto& node) const;
  bool empty() const { return functions_.empty(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  HashMap<Key, const onnx::FunctionProto*> functions_;
};

// The frame for inlining the body of `function` in place of `call`; `prefix` goes before the names
// in the body. kInvalidArgument if the function is already being inlined, or if the call passes
// more inputs, outputs or attributes than the function declares.
absl::StatusOr<Frame> EnterFunction(const onnx::FunctionProto& function,
                                    const onnx::NodeProto& call, Scope& caller, std::string prefix);

// The formal inputs of a function, each with the name of the value that the call passes; "" if it
// passes none.
absl::StatusOr<HashMap<std::string, std::string>> BindInputs(const onnx::FunctionProto& function,
                                                             const onnx::NodeProto& call);

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_FUNCTIONS_H_
