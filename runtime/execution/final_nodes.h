// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_FINAL_NODES_H_
#define ATTNRUN_EXECUTION_FINAL_NODES_H_

#include "absl/types/span.h"
#include "core/hash_map.h"
#include "graph/graph.h"

namespace attnrun::exec {

// The nodes whose results leave the graph through nothing but element-wise nodes and nodes that
// move elements, as those of a projection to logits do. `order`: all nodes, topologically.
HashSet<const Node*> FinalNodes(const Graph& graph, absl::Span<Node* const> order);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_FINAL_NODES_H_
