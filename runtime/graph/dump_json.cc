// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "graph/dump.h"

namespace attnrun {
namespace {

using Json = nlohmann::ordered_json;

Json Names(const std::vector<Value*>& values) {
  Json names = Json::array();
  for (const Value* value : values) names.push_back(value == nullptr ? "" : value->name());
  return names;
}

Json Typed(const Value* value) {
  if (value == nullptr) return {{"name", ""}, {"type", ""}};
  return {{"name", value->name()}, {"type", ToString(value->type())}};
}

Json GraphJson(const Graph& graph);

Json NodeJson(const Node& node) {
  Json outputs = Json::array();
  for (const Value* value : node.outputs()) outputs.push_back(Typed(value));
  Json attributes = Json::object();
  Json subgraphs = Json::object();
  for (const auto& [name, value] : node.attributes()) {
    if (const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&value)) {
      subgraphs[name] = GraphJson(**subgraph);
    } else {
      attributes[name] = ToString(value);
    }
  }
  return {{"name", node.name()},
          {"op", node.qualified_op_type()},
          {"inputs", Names(node.inputs())},
          {"outputs", std::move(outputs)},
          {"attributes", std::move(attributes)},
          {"subgraphs", std::move(subgraphs)}};
}

Json GraphJson(const Graph& graph) {
  Json inputs = Json::array();
  for (const Value* value : graph.inputs()) inputs.push_back(Typed(value));
  Json initializers = Json::array();
  for (const Value* value : graph.values()) {
    if (value->is_constant()) initializers.push_back(Typed(value));
  }
  Json nodes = Json::array();
  for (const Node* node : graph.nodes()) nodes.push_back(NodeJson(*node));
  return {{"name", graph.name()},
          {"inputs", std::move(inputs)},
          {"outputs", Names(graph.outputs())},
          {"captures", Names(graph.captures())},
          {"initializers", std::move(initializers)},
          {"nodes", std::move(nodes)}};
}

}  // namespace

std::string DumpJson(const Graph& graph) {
  // Names in a file need not be UTF-8, but JSON must be.
  return GraphJson(graph).dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace attnrun
