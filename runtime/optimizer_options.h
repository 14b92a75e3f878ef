// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_OPTIMIZER_OPTIONS_H_
#define ATTNRUN_RUNTIME_OPTIMIZER_OPTIONS_H_

#include "attnrun/session.h"
#include "optimizer/optimizer.h"

namespace attnrun {

// The part of a session's options that the optimizer obeys.
inline opt::OptimizerOptions OptimizerOptionsOf(const SessionOptions& options) {
  opt::OptimizerOptions chosen;
  chosen.disabled_passes = options.disabled_passes;
  chosen.stop_after = options.stop_after;
  chosen.max_rewrites = options.max_rewrites;
  chosen.folded_bytes = options.limits.folded_bytes;
  return chosen;
}

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_OPTIMIZER_OPTIONS_H_
