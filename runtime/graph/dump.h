// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_DUMP_H_
#define ATTNRUN_GRAPH_DUMP_H_

#include <string>

#include "graph/graph.h"

namespace attnrun {

// The graph as readable text, one node per line in the order of the graph, with subgraphs indented
// below their node:
//
//   graph main(%ids: int64[batch,seq]) -> (%y: float[batch,seq,8]) {
//     %table: float[100,8] = initializer
//     %y: float[batch,seq,8] = Gather(%table, %ids) {axis=0}  # embed/Gather
//   }
std::string DumpText(const Graph& graph);

// The main graph in the Graphviz language: nodes are boxes, values are edges. Initializers and the
// contents of subgraphs are left out.
std::string DumpDot(const Graph& graph);

// Two graphs side by side in one drawing, labeled "before" and "after".
std::string DumpDot(const Graph& before, const Graph& after);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_DUMP_H_
