// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_CHECKER_H_
#define ATTNRUN_GRAPH_CHECKER_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace attnrun {

// Checks the invariants of Graph, subgraphs included; kInternal naming the first that does not
// hold:
// - Every value is stored under its name and has exactly one origin.
// - Every value that a node or a graph output reads belongs to the graph.
// - Consumer lists have one entry per reading slot and no others.
// - Implicit inputs are the values that the subgraphs capture.
// - Names of nodes are unique, and there is no cycle.
// For debug builds, after each pass. Errors in a file are the loader's to report.
absl::Status CheckGraph(const Graph& graph);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_CHECKER_H_
