// SPDX-License-Identifier: Apache-2.0
#include "graph/checker.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun {
namespace {

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InternalError(absl::StrCat("graph check: ", parts...));
}

std::string Quote(const Value* value) { return absl::StrCat("value ", Quoted(value->name())); }

// Checks one graph; graphs inside it get checkers of their own.
class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph) {}

  absl::Status Check(bool is_subgraph) {
    ATTNRUN_RETURN_IF_ERROR(CheckInterface(is_subgraph));
    for (const Node* node : graph_.nodes()) ATTNRUN_RETURN_IF_ERROR(CheckNode(*node));
    for (const Value* value : graph_.values()) {
      ATTNRUN_RETURN_IF_ERROR(CheckOrigin(*value));
      ATTNRUN_RETURN_IF_ERROR(CheckConsumers(*value));
    }
    return graph_.TopologicalOrder().status();
  }

 private:
  bool Owns(const Value* value) const {
    return value != nullptr && graph_.FindValue(value->name()) == value;
  }

  absl::Status CheckInterface(bool is_subgraph) const;
  absl::Status CheckOrigin(const Value& value) const;
  absl::Status CheckConsumers(const Value& value) const;
  absl::Status CheckNode(const Node& node);
  absl::Status CheckSubgraphs(const Node& node);

  const Graph& graph_;
  HashSet<std::string> node_names_;
  // The nodes that read each value, one entry per input slot.
  HashMap<const Value*, std::vector<const Node*>> readers_;
};

absl::Status Checker::CheckInterface(bool is_subgraph) const {
  for (const Value* input : graph_.inputs()) {
    if (!Owns(input)) return Broken("a graph input is not a value of the graph");
    if (!input->is_input()) return Broken(Quote(input), " is listed as an input, but is not one");
  }
  for (const Value* output : graph_.outputs()) {
    if (!Owns(output)) return Broken("a graph output is not a value of the graph");
  }
  for (const Value* capture : graph_.captures()) {
    if (!Owns(capture)) return Broken("a capture is not a value of the graph");
    if (capture->outer() == nullptr) return Broken(Quote(capture), " captures nothing");
  }
  if (!is_subgraph && !graph_.captures().empty()) return Broken("the main graph has captures");
  return absl::OkStatus();
}

absl::Status Checker::CheckOrigin(const Value& value) const {
  if (!Owns(&value)) return Broken(Quote(&value), " is stored under another name");
  const int origins = (value.producer() != nullptr ? 1 : 0) + (value.is_input() ? 1 : 0) +
                      (value.is_constant() ? 1 : 0) + (value.outer() != nullptr ? 1 : 0);
  if (origins != 1) {
    return Broken(Quote(&value), " has ", origins, " origins (node, input, initializer, capture)");
  }
  const auto listed = [&](const std::vector<Value*>& values) {
    return std::find(values.begin(), values.end(), &value) != values.end();
  };
  if (value.is_input() && !listed(graph_.inputs())) {
    return Broken(Quote(&value), " is an input, but not listed as one");
  }
  if (value.outer() != nullptr && !listed(graph_.captures())) {
    return Broken(Quote(&value), " is a capture, but not listed as one");
  }
  const Node* producer = value.producer();
  if (producer != nullptr && producer->output(value.producer_index()) != &value) {
    return Broken(Quote(&value), " is not output ", value.producer_index(), " of its producer");
  }
  return absl::OkStatus();
}

absl::Status Checker::CheckConsumers(const Value& value) const {
  std::vector<const Node*> listed(value.consumers().begin(), value.consumers().end());
  const auto it = readers_.find(&value);
  std::vector<const Node*> actual = it == readers_.end() ? std::vector<const Node*>() : it->second;
  std::sort(listed.begin(), listed.end(), std::less<>());
  std::sort(actual.begin(), actual.end(), std::less<>());
  if (listed == actual) return absl::OkStatus();
  return Broken(Quote(&value), " lists ", listed.size(), " consumers, but ", actual.size(),
                " slots read it, or others do");
}

absl::Status Checker::CheckNode(const Node& node) {
  if (node.name().empty()) return Broken("a node has no name");
  if (!node_names_.insert(node.name()).second) {
    return Broken("two nodes are named ", Quoted(node.name()));
  }
  for (const auto* slots : {&node.inputs(), &node.implicit_inputs()}) {
    for (const Value* value : *slots) {
      if (value == nullptr) continue;
      if (!Owns(value))
        return Broken("an input of ", node.description(), " is not a value of its graph");
      readers_[value].push_back(&node);
    }
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* value = node.outputs()[i];
    if (value == nullptr) continue;
    if (!Owns(value) || value->producer() != &node) {
      return Broken("output ", i, " of ", node.description(), " is not known as its output");
    }
  }
  return CheckSubgraphs(node);
}

absl::Status Checker::CheckSubgraphs(const Node& node) {
  std::vector<const Value*> captured;
  for (const auto& [name, attribute] : node.attributes()) {
    const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (subgraph == nullptr) continue;
    for (const Value* capture : (*subgraph)->captures()) captured.push_back(capture->outer());
    ATTNRUN_RETURN_IF_ERROR(Checker(**subgraph).Check(true));
  }
  std::vector<const Value*> implicit(node.implicit_inputs().begin(), node.implicit_inputs().end());
  std::sort(captured.begin(), captured.end(), std::less<>());
  std::sort(implicit.begin(), implicit.end(), std::less<>());
  if (captured == implicit) return absl::OkStatus();
  return Broken(node.description(), " has ", implicit.size(),
                " implicit inputs, which are not the ", captured.size(),
                " values its subgraphs capture");
}

}  // namespace

absl::Status CheckGraph(const Graph& graph) { return Checker(graph).Check(false); }

}  // namespace attnrun
