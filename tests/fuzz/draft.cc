// SPDX-License-Identifier: Apache-2.0
#include "fuzz/draft.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "core/status.h"
#include "graph/dump.h"

namespace attnrun::testing {
namespace {

std::vector<std::string> Names(const std::vector<Value*>& values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(value == nullptr ? "" : value->name());
  return names;
}

absl::StatusOr<DraftNode> DraftOf(const Node& node) {
  for (const auto& [name, value] : node.attributes()) {
    if (std::holds_alternative<std::shared_ptr<Graph>>(value)) {
      return absl::InvalidArgumentError(absl::StrCat(node.description(), " has a subgraph"));
    }
  }
  return DraftNode{node.name(),          node.op_type(),        node.domain(),    node.opset(),
                   Names(node.inputs()), Names(node.outputs()), node.attributes()};
}

absl::Status AddNode(const DraftNode& node, Graph& graph) {
  NodeSpec spec = {node.name, node.op_type, node.domain, node.opset, {}, node.attributes};
  for (const std::string& name : node.inputs) {
    spec.inputs.push_back(name.empty() ? nullptr : graph.FindValue(name));
    if (!name.empty() && spec.inputs.back() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("there is no value '", name, "'"));
    }
  }
  return graph.AddNode(std::move(spec), node.outputs).status();
}

}  // namespace

absl::StatusOr<Draft> DraftOf(const Graph& graph) {
  Draft draft;
  for (const Value* input : graph.inputs()) draft.inputs[input->name()] = input->type();
  for (const Value* value : graph.values()) {
    if (value->is_constant()) draft.constants[value->name()] = *value->constant();
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  for (const Node* node : order) {
    ATTNRUN_ASSIGN_OR_RETURN(DraftNode added, DraftOf(*node));
    draft.nodes.push_back(std::move(added));
  }
  draft.outputs = Names(graph.outputs());
  return draft;
}

absl::StatusOr<std::unique_ptr<Graph>> Build(const Draft& draft) {
  auto graph = std::make_unique<Graph>();
  for (const auto& [name, type] : draft.inputs) {
    ATTNRUN_RETURN_IF_ERROR(graph->AddInput(name, type).status());
  }
  for (const auto& [name, tensor] : draft.constants) {
    ATTNRUN_RETURN_IF_ERROR(graph->AddInitializer(name, tensor).status());
  }
  for (const DraftNode& node : draft.nodes) ATTNRUN_RETURN_IF_ERROR(AddNode(node, *graph));
  for (const std::string& name : draft.outputs) {
    Value* output = graph->FindValue(name);
    if (output == nullptr) return absl::InvalidArgumentError(absl::StrCat("no value ", name));
    graph->AddOutput(output);
  }
  return graph;
}

void Prune(Draft& draft) {
  std::set<std::string> needed(draft.outputs.begin(), draft.outputs.end());
  std::vector<DraftNode> kept;
  for (auto node = draft.nodes.rbegin(); node != draft.nodes.rend(); ++node) {
    bool is_needed = false;
    for (const std::string& name : node->outputs) is_needed |= needed.contains(name);
    if (!is_needed) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(*node);
  }
  draft.nodes.assign(kept.rbegin(), kept.rend());
  std::erase_if(draft.constants, [&](const auto& entry) { return !needed.contains(entry.first); });
  std::erase_if(draft.inputs, [&](const auto& entry) { return !needed.contains(entry.first); });
}

std::string Text(const Draft& draft) {
  const auto graph = Build(draft);
  if (!graph.ok()) return graph.status().ToString();
  std::string text = DumpText(**graph);
  constexpr int64_t kShort = 16;
  for (const auto& [name, tensor] : draft.constants) {
    const auto elements = ToDoubles(tensor);
    if (tensor.num_elements() > kShort || !elements.ok()) continue;
    absl::StrAppend(&text, "  ", name, " = ", absl::StrJoin(*elements, " "), "\n");
  }
  return text;
}

}  // namespace attnrun::testing
