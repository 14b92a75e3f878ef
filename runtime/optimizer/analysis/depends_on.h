// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_DEPENDS_ON_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_DEPENDS_ON_H_

#include "graph/graph.h"

namespace attnrun::opt {

// True if a value is computed from one of the node's outputs.
bool DependsOn(const Value& value, const Node& node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_DEPENDS_ON_H_
