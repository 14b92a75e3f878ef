#ifndef ATTNRUN_OPTIMIZER_OPTIMIZER_H_
#define ATTNRUN_OPTIMIZER_OPTIMIZER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "optimizer/pass.h"

namespace attnrun {

struct OptimizerOptions {
  std::vector<std::string> disabled_passes;
  // Empty: run them all.
  std::string stop_after;
};

// All passes in the order in which they run.
absl::Span<const Pass> Passes();

// Runs the passes. kInvalidArgument for a name in the options that is no pass.
absl::Status Optimize(Graph& graph, const OptimizerOptions& options);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_OPTIMIZER_H_
