#include "execution/support.h"

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ops/registry.h"

namespace attnrun {
namespace {

// Every node, those of subgraphs after the node that holds them.
void ForEachNode(const Graph& graph, absl::FunctionRef<void(const Node&)> visit) {
  for (const Node* node : graph.nodes()) {
    visit(*node);
    for (const auto& [name, attribute] : node->attributes()) {
      const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (subgraph != nullptr) ForEachNode(**subgraph, visit);
    }
  }
}

}  // namespace

std::vector<UnsupportedOp> FindUnsupported(const Graph& graph) {
  std::vector<UnsupportedOp> found;
  ForEachNode(graph, [&](const Node& node) {
    const absl::Status status = OpRegistry::Get().Create(node).status();
    if (status.ok()) return;
    for (UnsupportedOp& earlier : found) {
      if (earlier.op_type == node.op_type() && earlier.domain == node.domain() &&
          earlier.reason == status.message()) {
        ++earlier.count;
        return;
      }
    }
    found.push_back({node.domain(), node.op_type(), node.opset(), node.name(), 1,
                     std::string(status.message())});
  });
  return found;
}

absl::Status CheckSupported(const Graph& graph) {
  const std::vector<UnsupportedOp> found = FindUnsupported(graph);
  if (found.empty()) return absl::OkStatus();
  std::string message = "the model cannot run:";
  for (const UnsupportedOp& op : found) {
    const std::string name =
        op.domain.empty() ? op.op_type : absl::StrCat(op.domain, ".", op.op_type);
    absl::StrAppend(&message, "\n  ", name, " (", op.count, op.count == 1 ? " node" : " nodes",
                    ", the first '", op.first_node, "'): ", op.reason);
  }
  return absl::UnimplementedError(message);
}

void CountOps(const Graph& graph, std::map<std::string, int64_t>& counts) {
  ForEachNode(graph, [&](const Node& node) { ++counts[node.qualified_op_type()]; });
}

}  // namespace attnrun
