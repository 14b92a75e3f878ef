// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_OPTIMIZER_H_
#define ATTNRUN_OPTIMIZER_OPTIMIZER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/rewrite.h"
#include "graph/graph.h"

namespace attnrun::opt {

struct OptimizerOptions {
  std::vector<std::string> disabled_passes = {};
  // The name of the last rule to run; empty to run all.
  std::string stop_after = {};
  // The number of rewrites to apply, in the order of the report; -1 for all.
  int64_t max_rewrites = -1;
  // The most bytes of constants to compute.
  int64_t folded_bytes = std::numeric_limits<int64_t>::max();
  // Calls CheckGraph after each rule and returns its error. Debug builds always do.
  bool check_graph = false;
};

// The names of all rules, each once, in the order of the pipeline.
std::vector<std::string> PassNames();

// Applies the phases of rules (pipeline.h) to the graph and to the bodies in it, round after round
// until none finds anything to do. Returns the rewrites in the order in which they happened,
// followed by the near misses: rewrites that were considered and not applied, with the reason.
// kInvalidArgument if a name in the options is neither the name nor an alias of a rule.
absl::StatusOr<std::vector<Rewrite>> Optimize(Graph& graph, const OptimizerOptions& options);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_OPTIMIZER_H_
