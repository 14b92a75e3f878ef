// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/cleanup/dead_code.h"

#include <algorithm>

#include "core/status.h"

namespace attnrun::opt {
namespace {

bool IsRead(const Graph& graph, const Value* value) {
  return value != nullptr && (!value->consumers().empty() || graph.IsOutput(value));
}

}  // namespace

absl::StatusOr<int> RemoveDeadCode(PassContext& context) {
  const Graph& graph = context.graph;
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<Node*> order, graph.TopologicalOrder());
  int removed = 0;
  // Consumers first, so that one sweep sees a whole chain die.
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

}  // namespace attnrun::opt
