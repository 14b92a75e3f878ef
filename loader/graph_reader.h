// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_GRAPH_READER_H_
#define ATTNRUN_LOADER_GRAPH_READER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "loader/functions.h"
#include "loader/node_names.h"
#include "loader/scope.h"
#include "loader/tensor_reader.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// What the graphs of one model share while they are read.
struct ModelContext {
  TensorSource source;
  int64_t ir_version = 0;
  FunctionTable functions;
  NodeNames node_names;
  // Nodes that stand in inlined bodies, so far.
  int64_t inlined_nodes = 0;
};

// Makes the Graph of one GraphProto, with calls of model-local functions replaced by their bodies.
//
// Nodes may stand in any order in the file, so all are declared with their outputs first, calls
// replaced, and then connected; the graphs among a node's attributes are read when it is connected,
// by a reader of their own whose scope lies within this one's.
class GraphReader {
 public:
  // `enclosing` is null for the main graph. All arguments must outlive the reader.
  GraphReader(ModelContext& context, const onnx::GraphProto& proto, const Frame& frame,
              Scope* enclosing);

  absl::StatusOr<std::unique_ptr<Graph>> Read();

 private:
  using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  // A declared node.
  struct Pending {
    Node* node;
    const onnx::NodeProto* proto;
    Scope* scope;
  };

  absl::Status DefineInputs();
  absl::Status DefineInitializers();
  absl::Status DefineInitializer(const std::string& name, absl::StatusOr<Tensor> data);
  absl::Status DefineOutputs();
  // Types that value_info and the outputs state.
  absl::Status DeclareTypes(
      const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& declarations);
  absl::Status CheckUndefined(const std::string& name, absl::string_view definition) const;
  void ReserveNames();

  absl::Status DeclareNodes(const NodeProtos& nodes, Scope& scope);
  absl::Status DeclareNode(const onnx::NodeProto& proto, Scope& scope);
  absl::StatusOr<std::vector<std::string>> OutputNames(const onnx::NodeProto& proto, Scope& scope,
                                                       absl::string_view description);

  absl::Status Inline(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                      Scope& caller);
  absl::StatusOr<Scope*> EnterBody(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                                   Scope& caller);
  absl::Status BindOutputs(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                           const std::vector<std::string>& names, Scope& body);
  // A name that neither the graph nor the file uses.
  std::string InventName(const std::string& hint) const;

  absl::Status Connect(const Pending& pending);
  absl::Status ConnectInputs(const Pending& pending);
  absl::Status SetAttribute(const Pending& pending, const onnx::AttributeProto& proto);
  absl::Status AttachSubgraph(const Pending& pending, const std::string& name,
                              const onnx::GraphProto& proto, Scope* scope);

  ModelContext& context_;
  const onnx::GraphProto& proto_;
  std::unique_ptr<Graph> graph_;
  Scope scope_;
  absl::flat_hash_set<std::string> reserved_names_;
  std::vector<Pending> pending_;
  // Scopes point at each other; a deque does not move them. Likewise below.
  std::deque<Scope> bodies_;
  std::deque<Frame> frames_;
  std::deque<onnx::NodeProto> copies_;
};

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_GRAPH_READER_H_
