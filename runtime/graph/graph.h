// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_GRAPH_H_
#define ATTNRUN_GRAPH_GRAPH_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/hash_map.h"
#include "graph/attribute.h"
#include "graph/equalities.h"
#include "graph/type.h"

namespace attnrun {

class Node;

// A tensor of the graph, or a sequence or optional of them: a graph input, an initializer, an
// output of one node, or a value of an enclosing graph. Owned by its Graph.
class Value {
 public:
  const std::string& name() const { return name_; }
  const Type& type() const { return type_; }
  void set_type(Type type) { type_ = std::move(type); }

  // The node that computes this value and which of its outputs this is; null for inputs,
  // initializers and values of the enclosing graph.
  Node* producer() const { return producer_; }
  int producer_index() const { return producer_index_; }

  // One entry per input slot, explicit or implicit, that reads this value.
  const std::vector<Node*>& consumers() const { return consumers_; }

  // The data of an initializer or the default of an input; null if there is none.
  const Tensor* constant() const { return constant_.has_value() ? &*constant_ : nullptr; }
  bool is_input() const { return is_input_; }
  // True for an initializer that the caller of a run cannot override.
  bool is_constant() const { return constant_.has_value() && !is_input_; }

  // In a subgraph, the value of the enclosing graph that this value stands for; otherwise null.
  Value* outer() const { return outer_; }

 private:
  friend class Graph;
  friend class Node;
  std::string name_;
  Type type_;
  Node* producer_ = nullptr;
  int producer_index_ = 0;
  std::vector<Node*> consumers_;
  std::optional<Tensor> constant_;
  bool is_input_ = false;
  Value* outer_ = nullptr;
};

// One application of an operator. Owned by its Graph.
class Node {
 public:
  // Unique within its graph; in a loaded model, unique within the model.
  const std::string& name() const { return name_; }
  const std::string& op_type() const { return op_type_; }
  // "" for ai.onnx.
  const std::string& domain() const { return domain_; }
  // The version of the node's domain that the model imports.
  int opset() const { return opset_; }
  // "MatMul", "com.microsoft.BiasGelu".
  std::string qualified_op_type() const;
  // The name for messages: "node 'encoder/MatMul' (MatMul)".
  std::string description() const;

  // Null for an optional input or output that is left out.
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  // Also null past the end.
  Value* input(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  Value* output(size_t i) const { return i < outputs_.size() ? outputs_[i] : nullptr; }
  // Values of this graph that the node's subgraphs read.
  const std::vector<Value*>& implicit_inputs() const { return implicit_inputs_; }

  const AttributeMap& attributes() const { return attributes_; }
  const AttributeValue* attribute(absl::string_view name) const;
  void set_attribute(const std::string& name, AttributeValue value) {
    attributes_[name] = std::move(value);
  }

 private:
  friend class Graph;
  // Its key in Graph::nodes_.
  size_t number_ = 0;
  std::string name_;
  std::string op_type_;
  std::string domain_;
  int opset_ = 0;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<Value*> implicit_inputs_;
  AttributeMap attributes_;
};

// A description of the node that AddNode creates.
struct NodeSpec {
  // If empty, AddNode makes up a name; if another node has it, AddNode appends a suffix.
  std::string name;
  std::string op_type;
  std::string domain;
  int opset = 0;
  std::vector<Value*> inputs;
  AttributeMap attributes;
};

// A directed acyclic graph of nodes and values (ONNX GraphProto). Nodes keep the order in which
// they were added; TopologicalOrder returns an order to run them in. Names of values are unique.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  std::vector<Node*> nodes() const;
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  // The values of this graph that stand for values of the enclosing graph, read here or in a
  // subgraph.
  const std::vector<Value*>& captures() const { return captures_; }
  std::vector<Value*> values() const;
  // Null if no value has that name.
  Value* FindValue(absl::string_view name) const;

  // The Add... functions return kAlreadyExists if the name is taken.
  absl::StatusOr<Value*> AddInput(std::string name, Type type);
  absl::StatusOr<Value*> AddInitializer(std::string name, Tensor data);
  absl::StatusOr<Value*> AddCapture(std::string name, Value* outer);
  // Gives an input a default.
  void SetDefault(Value* input, Tensor data);
  // `outputs` are the names of the outputs; an empty name leaves that output out. Captures of the
  // subgraphs among the attributes become implicit inputs.
  absl::StatusOr<Node*> AddNode(NodeSpec spec, absl::Span<const std::string> outputs);
  // Makes `subgraph` an attribute of a node of this graph. Its captures become implicit inputs.
  // Precondition: the node has no attribute of that name.
  void AttachSubgraph(Node* node, const std::string& attribute, std::shared_ptr<Graph> subgraph);
  void AddOutput(Value* value) { outputs_.push_back(value); }

  // Moves the nodes and values of a subgraph into this graph; the node loses the attribute. Returns
  // the values of this graph that were the subgraph's outputs. Names that are taken get a suffix.
  // Precondition: nothing else holds the subgraph, and it has no inputs.
  std::vector<Value*> Inline(Node* node, const std::string& attribute);

  // For rewrites: `hint`, hint_1, ..., a name that no value has and no computed value ever had.
  std::string UniqueName(absl::string_view hint);
  // Precondition: no value has that name.
  void Rename(Value* value, std::string name);
  // Replaces the tensor of an initializer by one with the same elements.
  void SetData(Value* initializer, Tensor data) { initializer->constant_ = std::move(data); }
  // Tidies the captures of the node's subgraphs and of those inside them: unread ones are removed,
  // and those of constants become initializers that share the bytes. Precondition: nothing else
  // holds the subgraphs.
  void TidyCaptures(Node* node);
  void SetInput(Node* node, size_t index, Value* value);
  // Makes the node read nothing, but for what its subgraphs capture.
  void ClearInputs(Node* node);
  // Makes every consumer and graph output that reads `from` read `to`.
  void ReplaceUses(Value* from, Value* to);
  // Precondition: no output of the node is read.
  void RemoveNode(Node* node);
  // Precondition: nothing reads the value and it is no graph input or output.
  void RemoveValue(Value* value);

  bool IsOutput(const Value* value) const;

  // Numbers that are equal in every run of the model that succeeds, in the extents of its inputs.
  // A rewrite may have removed the nodes that fail in other runs, so inputs must be checked.
  const Equalities& equalities() const { return equalities_; }
  void set_equalities(Equalities equalities) { equalities_ = std::move(equalities); }

  // The nodes in an order where each follows the nodes it depends on, otherwise as they were added.
  // kInvalidArgument, naming a cycle, if there is one.
  absl::StatusOr<std::vector<Node*>> TopologicalOrder() const;

 private:
  absl::StatusOr<Value*> NewValue(std::string name);
  Node* Own(std::unique_ptr<Node> node);
  // Precondition: no value has its name.
  Value* Own(std::unique_ptr<Value> value);
  void AdoptConstants();
  void DropUnreadCaptures();
  // Sets the node's implicit inputs to the captures of its subgraphs.
  static void ListImplicitInputs(Node* node);
  // `wanted`; a name with a suffix if that is empty or taken.
  std::string NewNodeName(const std::string& wanted, const std::string& op_type);
  // kAlreadyExists if a name is taken or occurs twice; empty names do not count.
  absl::Status CheckFree(absl::Span<const std::string> names) const;

  std::string name_;
  // By the order in which they were added.
  std::map<size_t, std::unique_ptr<Node>> nodes_;
  // Greater than all numbers of nodes.
  size_t next_number_ = 0;
  HashMap<std::string, std::unique_ptr<Value>> values_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<Value*> captures_;
  HashSet<std::string> node_names_;
  HashMap<std::string, int64_t> next_node_name_;
  // Names of removed values that nodes computed, so that no new value is mistaken for one of them.
  // The entries of values_ move here, since a removal must not fail when memory runs out.
  HashMap<std::string, std::unique_ptr<Value>> past_names_;
  HashMap<std::string, int64_t> next_suffix_;
  Equalities equalities_;
};

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_GRAPH_H_
