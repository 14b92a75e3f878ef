#ifndef ATTNRUN_OPTIMIZER_PASS_H_
#define ATTNRUN_OPTIMIZER_PASS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace attnrun {

// One step of the optimizer: rewrites a graph without changing what it computes.
struct Pass {
  absl::string_view name;
  // Returns the number of rewrites applied.
  absl::StatusOr<int> (*run)(Graph& graph);
};

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_PASS_H_
