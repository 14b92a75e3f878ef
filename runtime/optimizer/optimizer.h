#ifndef ATTNRUN_OPTIMIZER_OPTIMIZER_H_
#define ATTNRUN_OPTIMIZER_OPTIMIZER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/rewrite.h"
#include "graph/graph.h"

namespace attnrun {

struct OptimizerOptions {
  std::vector<std::string> disabled_passes;
  // Empty: run them all.
  std::string stop_after;
  // Whether each pass is followed by CheckGraph, whose error is then the optimizer's. Always so in
  // debug builds.
  bool check_graph = false;
};

// The names of all passes in the order in which they first run.
std::vector<std::string> PassNames();

// Runs the passes, round after round until one finds nothing to do; `stop_after` cuts each round
// after the pass's last place in it. Returns what was rewritten, in the order in which it happened,
// and what was not and why.
// kInvalidArgument for a name in the options that is no pass.
absl::StatusOr<std::vector<Rewrite>> Optimize(Graph& graph, const OptimizerOptions& options);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_OPTIMIZER_H_
