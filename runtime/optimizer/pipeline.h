// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_PIPELINE_H_
#define ATTNRUN_OPTIMIZER_PIPELINE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {

// Rules that are applied in order, again and again, until none of them finds anything to do.
struct Phase {
  absl::string_view name;
  std::vector<const Rule*> rules;
};

// The phase that runs first, and again whenever rules of another phase have changed the graph.
const Phase& CleanUp();

// The phases that attnrun runs, in their order.
const std::vector<Phase>& StandardPhases();

// The phases that Optimize runs: StandardPhases. Defined in a file of its own, so that a test can
// link another definition that has a wrong rule added.
const std::vector<Phase>& Phases();

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_PIPELINE_H_
