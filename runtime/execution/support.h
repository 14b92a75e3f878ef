// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_SUPPORT_H_
#define ATTNRUN_EXECUTION_SUPPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attnrun/model_info.h"
#include "graph/graph.h"

namespace attnrun::exec {

// Every operator, version and attribute in the graph and its subgraphs that attnrun does not cover,
// in the order of the nodes. Nodes with the same operator and reason are counted together.
std::vector<UnsupportedOp> FindUnsupported(const Graph& graph);

// OK, or kUnimplemented listing the first 20 entries of FindUnsupported.
absl::Status CheckSupported(const Graph& graph);

// Adds the graph's nodes and those of its subgraphs to `counts`, by qualified op type.
void CountOps(const Graph& graph, std::map<std::string, int64_t>& counts);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_SUPPORT_H_
