// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_OPTIMIZER_H_
#define ATTNRUN_OPTIMIZER_OPTIMIZER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/rewrite.h"
#include "graph/graph.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

struct OptimizerOptions {
  std::vector<std::string> disabled_passes;
  // Empty: run them all.
  std::string stop_after;
  // How many rewrites to apply, in the order of the report; -1 for all.
  int64_t max_rewrites = -1;
  // Whether each pass is followed by CheckGraph, whose error is then the optimizer's. Always so in
  // debug builds.
  bool check_graph = false;
};

// The names of all passes in the order in which they first run.
std::vector<std::string> PassNames();

// While it exists, Optimize runs one pass more at the end of each round: for tests of what finds
// wrong ones. Not to be made or to go while another thread optimizes.
class ScopedPass {
 public:
  explicit ScopedPass(const Pass& pass);
  ScopedPass(const ScopedPass&) = delete;
  ScopedPass& operator=(const ScopedPass&) = delete;
  ~ScopedPass();
};

// Runs the passes on the graph and on the bodies in it, round after round until one finds nothing
// to do; `stop_after` cuts each round after the pass's last place in it. Returns what was
// rewritten, in the order in which it happened, and what was not and why. kInvalidArgument for a
// name in the options that is no pass.
absl::StatusOr<std::vector<Rewrite>> Optimize(Graph& graph, const OptimizerOptions& options);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_OPTIMIZER_H_
