// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_ELEMENTWISE_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_ELEMENTWISE_H_

#include "graph/graph.h"

namespace attnrun::opt {

// Whether the node computes each element of its only output of the elements of its inputs that
// broadcast to its place, and of nothing else.
bool IsElementwise(const Node& node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_ELEMENTWISE_H_
