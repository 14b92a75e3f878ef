// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_GRAPH_READER_H_
#define ATTNRUN_LOADER_GRAPH_READER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/hash_map.h"
#include "graph/graph.h"
#include "loader/functions.h"
#include "loader/loader.h"
#include "loader/node_names.h"
#include "loader/scope.h"
#include "loader/tensor_reader.h"
#include "onnx.pb.h"

namespace attnrun::loader {

// State shared by the graphs of one model while they are read.
struct ModelContext {
  TensorSource source;
  int64_t ir_version = 0;
  const LoadOptions* options = nullptr;
  FunctionTable functions;
  NodeNames node_names;
  // Nodes of graphs read and of function bodies inlined so far.
  int64_t nodes = 0;
  int64_t inlined_nodes = 0;
};

// Makes the Graph of one GraphProto and replaces calls of model-local functions by their bodies.
//
// A file may list nodes in any order. So the reader first declares all nodes with their outputs,
// and inlines calls; then it connects the inputs. When it connects a node, it reads the node's
// subgraphs with readers of their own, whose scopes are nested in this one's.
class GraphReader {
 public:
  // `enclosing` is null for the main graph. All arguments must outlive the reader.
  GraphReader(ModelContext& context, const onnx::GraphProto& proto, const Frame& frame,
              Scope* enclosing);

  absl::StatusOr<std::unique_ptr<Graph>> Read();

 private:
  using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  // A node that is declared but not yet connected.
  struct Pending {
    Node* node;
    const onnx::NodeProto* proto;
    Scope* scope;
  };

  absl::Status DefineInputs();
  absl::Status DefineInitializers();
  absl::Status DefineInitializer(const std::string& name, absl::StatusOr<Tensor> data);
  absl::Status DefineOutputs();
  // Sets the types that value_info and the graph outputs declare. Unless `of_data`, declarations of
  // values whose data is known say nothing.
  absl::Status DeclareTypes(
      const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& declarations,
      bool of_data = true);
  absl::Status CheckUndefined(const std::string& name, absl::string_view definition) const;
  void ReserveNames();

  absl::Status DeclareNodes(const NodeProtos& nodes, Scope& scope);
  absl::Status DeclareNode(const onnx::NodeProto& proto, Scope& scope);
  absl::StatusOr<std::vector<std::string>> OutputNames(const onnx::NodeProto& proto, Scope& scope,
                                                       absl::string_view description);

  // A node in place of a call, with the attributes that the function has defaults for; null if the
  // options say that the call is to be inlined.
  const onnx::NodeProto* AsOperator(const onnx::FunctionProto& function,
                                    const onnx::NodeProto& call, const Scope& caller);
  // The value of an attribute of a node in `scope`; null if it refers to an attribute that the
  // caller of the function does not give. An error if it holds a graph.
  absl::StatusOr<std::optional<AttributeValue>> ReadValue(const onnx::AttributeProto& proto,
                                                          const Scope& scope) const;
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
  HashSet<std::string> reserved_names_;
  std::vector<Pending> pending_;
  // Scopes point to each other, and a deque does not move its elements. The same holds below.
  std::deque<Scope> bodies_;
  std::deque<Frame> frames_;
  std::deque<onnx::NodeProto> copies_;
};

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_GRAPH_READER_H_
