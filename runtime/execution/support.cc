// SPDX-License-Identifier: Apache-2.0
#include "execution/support.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "ops/interface/registry.h"

namespace attnrun::exec {
namespace {

// Visits every node; the nodes of a subgraph follow the node that holds it.
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
  HashMap<std::tuple<std::string, std::string, std::string>, size_t> places;
  ForEachNode(graph, [&](const Node& node) {
    const absl::Status status = ops::OpRegistry::Get().Create(node).status();
    if (status.ok()) return;
    const std::string reason(status.message());
    const auto [place, added] =
        places.try_emplace({node.domain(), node.op_type(), reason}, found.size());
    if (added) {
      found.push_back({node.domain(), node.op_type(), node.opset(), node.name(), 1, reason});
    } else {
      ++found[place->second].count;
    }
  });
  return found;
}

absl::Status CheckSupported(const Graph& graph) {
  const std::vector<UnsupportedOp> found = FindUnsupported(graph);
  if (found.empty()) return absl::OkStatus();
  constexpr size_t kShown = 20;
  std::string message = "the model cannot run:";
  for (const UnsupportedOp& op : absl::MakeSpan(found).first(std::min(found.size(), kShown))) {
    const std::string name =
        Shortened(op.domain.empty() ? op.op_type : absl::StrCat(op.domain, ".", op.op_type));
    absl::StrAppend(&message, "\n  ", name, " (", op.count, op.count == 1 ? " node" : " nodes",
                    ", the first ", Quoted(op.first_node), "): ", op.reason);
  }
  if (found.size() > kShown) absl::StrAppend(&message, "\n  and ", found.size() - kShown, " more");
  return absl::UnimplementedError(message);
}

void CountOps(const Graph& graph, std::map<std::string, int64_t>& counts) {
  ForEachNode(graph, [&](const Node& node) { ++counts[node.qualified_op_type()]; });
}

}  // namespace attnrun::exec
