// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_SCOPE_H_
#define ATTNRUN_LOADER_SCOPE_H_

#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "onnx.pb.h"

namespace attnrun::loader {

struct Scope;

// What the text of a function's body, or of the main graph, means where it stands.
struct Frame {
  // An attribute of the call, and where its subgraphs find their names.
  struct Binding {
    const onnx::AttributeProto* proto;
    Scope* scope;
  };

  // The function that is being inlined; null for the main graph.
  const onnx::FunctionProto* function = nullptr;
  const Frame* caller = nullptr;
  // Version by domain.
  std::map<std::string, int> opsets;
  absl::flat_hash_map<std::string, Binding> attributes;
  // Before the names of the body's nodes and values: "layer.0/".
  std::string prefix;
};

// The values that names stand for in a graph, or in a function's body that is inlined into one.
struct Scope {
  Graph* graph = nullptr;
  const Frame* frame = nullptr;
  // Of a subgraph: where the names are that it does not define.
  Scope* enclosing = nullptr;
  // Of a function's body: where the call stands, and what its formal inputs are called there.
  Scope* caller = nullptr;
  absl::flat_hash_map<std::string, std::string> formal_inputs;
  // Of a function's body: what its outputs are called in the graph.
  absl::flat_hash_map<std::string, std::string> output_names;
  absl::flat_hash_map<std::string, Value*> values;
  // Graphs and calls around this.
  int nesting = 0;

  // The value of that name in `graph`, captured from the graphs around it if need be; null where a
  // call leaves a formal input out. nullopt if nothing defines it. Only once all nodes of `graph`
  // are declared.
  std::optional<Value*> Find(const std::string& name);
};

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_SCOPE_H_
