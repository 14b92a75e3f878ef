// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_CHECKER_H_
#define ATTNRUN_GRAPH_CHECKER_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace attnrun {

// kInternal naming the first invariant of Graph that does not hold, subgraphs included: every value
// is found under its name and has one origin; every value that a node or a graph output reads
// belongs to the graph; consumer lists name each reading slot once and nothing else; implicit
// inputs are what the subgraphs capture; names of nodes are unique; there is no cycle. Meant to run
// after each rewrite in debug builds: what a file may get wrong is the loader's to refuse.
absl::Status CheckGraph(const Graph& graph);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_CHECKER_H_
