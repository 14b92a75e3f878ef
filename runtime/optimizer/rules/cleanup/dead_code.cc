// SPDX-License-Identifier: Apache-2.0

// Removes nodes and initializers that no graph output depends on, which other rules leave behind:
//
//   y = Gelu(x),  z = Relu(x), z has no readers   ->   y = Gelu(x)
//
// Graph inputs stay.

#include <algorithm>

#include "core/status.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool IsRead(const Graph& graph, const Value* value) {
  return value != nullptr && (!value->consumers().empty() || graph.IsOutput(value));
}

absl::StatusOr<int> RemoveDeadCode(RuleContext& context) {
  const Graph& graph = context.graph;
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<Node*> order, graph.TopologicalOrder());
  int removed = 0;
  // Consumers come first, so that one sweep removes a whole dead chain.
  std::reverse(order.begin(), order.end());
  for (Node* node : order) {
    const auto& outputs = node->outputs();
    const auto read = [&](const Value* value) { return IsRead(graph, value); };
    if (std::any_of(outputs.begin(), outputs.end(), read)) continue;
    context.Remove(node);
    ++removed;
  }
  for (Value* value : graph.values()) {
    if (!value->is_constant() || IsRead(graph, value)) continue;
    context.Remove(value);
    ++removed;
  }
  return removed;
}

}  // namespace

extern const Rule kDeadCode = {
    .name = "dead_code",
    .summary = "Nodes and initializers that no output depends on are removed",
    .run = RemoveDeadCode};

}  // namespace attnrun::opt
