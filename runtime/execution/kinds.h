// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_KINDS_H_
#define ATTNRUN_EXECUTION_KINDS_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace attnrun::exec {

// Finds out which values of a main graph and of its subgraphs are sequences or optionals, and notes
// it in their types. kInvalidArgument, naming the node, if an operator is given a value of a kind
// that it does not take; kUnimplemented for an input or output of no such kind, such as a map.
// Precondition: CheckSupported(graph) is OK.
absl::Status FindKinds(Graph& graph);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_KINDS_H_
