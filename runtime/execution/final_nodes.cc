// SPDX-License-Identifier: Apache-2.0
#include "execution/final_nodes.h"

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"

namespace attnrun::exec {
namespace {

bool PassesOn(const Node& node) {
  const ops::OpTraits traits = ops::TraitsOf(node);
  return traits.elementwise || traits.moves_elements;
}

}  // namespace

HashSet<const Node*> FinalNodes(const Graph& graph, absl::Span<Node* const> order) {
  HashSet<const Node*> nodes;
  const auto leaves = [&](const Value* value) {
    if (value == nullptr) return true;
    if (value->consumers().empty()) return graph.IsOutput(value);
    return absl::c_all_of(value->consumers(), [&](const Node* reader) {
      return PassesOn(*reader) && nodes.contains(reader);
    });
  };
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if (absl::c_all_of((*node)->outputs(), leaves)) nodes.insert(*node);
  }
  return nodes;
}

}  // namespace attnrun::exec
