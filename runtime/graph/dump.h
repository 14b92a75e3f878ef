// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_DUMP_H_
#define ATTNRUN_GRAPH_DUMP_H_

#include <string>

#include "graph/graph.h"

namespace attnrun {

// A graph for people to read, one node per line in the order of the graph, subgraphs indented below
// their node:
//
//   graph main(%ids: int64[batch,seq]) -> (%y: float[batch,seq,8]) {
//     %table: float[100,8] = initializer
//     %y: float[batch,seq,8] = Gather(%table, %ids) {axis=0}  # embed/Gather
//   }
std::string DumpText(const Graph& graph);

// The main graph in the language of Graphviz: nodes as boxes, values as edges. Initializers are
// left out, and subgraphs appear as the attributes of their node.
std::string DumpDot(const Graph& graph);

// Two graphs in one drawing, side by side, as "before" and "after".
std::string DumpDot(const Graph& before, const Graph& after);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_DUMP_H_
