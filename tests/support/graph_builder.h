// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_GRAPH_BUILDER_H_
#define ATTNRUN_TESTS_SUPPORT_GRAPH_BUILDER_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace attnrun::testing {

// An extent as it is written in code: 384, "batch", or "" for one that is not known.
struct DimSpec {
  DimSpec(int64_t value) : dim{value, ""} {}               // NOLINT(google-explicit-constructor)
  DimSpec(int value) : dim{value, ""} {}                   // NOLINT(google-explicit-constructor)
  DimSpec(const char* symbol) : dim{-1, symbol} {}         // NOLINT(google-explicit-constructor)
  DimSpec(const std::string& symbol) : dim{-1, symbol} {}  // NOLINT(google-explicit-constructor)
  Dim dim;
};

// Makes a graph, or adds to one, in a few lines:
//
//   GraphBuilder b;
//   Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
//   b.Output(b.Op("Softmax", {x}, {{"axis", int64_t{-1}}}));
//   ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, b.Build());
//
// The first error is kept and returned at the end; meanwhile values are null.
class GraphBuilder {
 public:
  // A new graph whose nodes are of this opset.
  explicit GraphBuilder(int opset = 20) : owned_(std::make_unique<Graph>()), opset_(opset) {
    graph_ = owned_.get();
  }
  // Adds to `graph`, which must outlive the builder.
  GraphBuilder(Graph& graph, int opset) : graph_(&graph), opset_(opset) {}

  // Without a shape not even the rank is known.
  Value* Input(const std::string& name, DataType type);
  Value* Input(const std::string& name, DataType type, std::initializer_list<DimSpec> shape);
  // An initializer; `name` is made unique.
  Value* Constant(const std::string& name, Tensor data);
  template <typename T>
  Value* Constant(const std::string& name, std::initializer_list<int64_t> shape,
                  std::initializer_list<T> elements) {
    absl::StatusOr<Tensor> data = Tensor::Of<T>(shape, elements);
    if (!data.ok()) return Fail(data.status());
    return Constant(name, *std::move(data));
  }
  // A value of the graph around this one.
  Value* Capture(Value* outer);

  // The output of a new node, named after the operator. A null input is left out.
  // "domain::Name" is of another domain, at version 1.
  Value* Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes = {});
  // As Op, with this many outputs.
  std::vector<Value*> Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                          AttributeMap attributes = {});

  // Makes a value of the graph a graph output.
  GraphBuilder& Output(Value* value);

  // The first error.
  const absl::Status& status() const { return status_; }
  // The graph, unless there was an error. Precondition: the builder made the graph itself.
  absl::StatusOr<std::unique_ptr<Graph>> Build();

 private:
  Value* Fail(const absl::Status& status);
  // The value, or null after keeping the error.
  Value* Keep(absl::StatusOr<Value*> value);

  std::unique_ptr<Graph> owned_;
  Graph* graph_ = nullptr;
  const int opset_;
  absl::Status status_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_GRAPH_BUILDER_H_
