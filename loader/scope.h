// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOADER_SCOPE_H_
#define ATTNRUN_LOADER_SCOPE_H_

#include <map>
#include <optional>
#include <string>

#include "core/hash_map.h"
#include "graph/graph.h"
#include "onnx.pb.h"

namespace attnrun::loader {

struct Scope;

// The context of a function body that is being inlined, or of the main graph.
struct Frame {
  // An attribute of the call, and the scope in which its subgraphs look up names.
  struct Binding {
    const onnx::AttributeProto* proto;
    Scope* scope;
  };

  // The function that is being inlined; null for the main graph.
  const onnx::FunctionProto* function = nullptr;
  const Frame* caller = nullptr;
  // Opset version by domain.
  std::map<std::string, int> opsets;
  HashMap<std::string, Binding> attributes;
  // Put before the names of the body's nodes and values: "layer.0/".
  std::string prefix;
};

// The values that names refer to in a graph, or in a function body that is inlined into a graph.
struct Scope {
  Graph* graph = nullptr;
  const Frame* frame = nullptr;
  // For a subgraph: the scope for names that it does not define.
  Scope* enclosing = nullptr;
  // For a function body: the scope of the call, and the names of the formal inputs there.
  Scope* caller = nullptr;
  HashMap<std::string, std::string> formal_inputs;
  // For a function body: the names of its outputs in the graph.
  HashMap<std::string, std::string> output_names;
  HashMap<std::string, Value*> values;
  // The number of graphs and calls around this one.
  int nesting = 0;

  // The value of that name in `graph`, captured from an enclosing graph if necessary; null for a
  // formal input that the call leaves out; nullopt if nothing defines it. Precondition: all nodes
  // of `graph` are declared.
  std::optional<Value*> Find(const std::string& name);
};

}  // namespace attnrun::loader

#endif  // ATTNRUN_LOADER_SCOPE_H_
