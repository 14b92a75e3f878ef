// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_ANONYMOUS_EXTENTS_H_
#define ATTNRUN_RUNTIME_ANONYMOUS_EXTENTS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace attnrun {

// Takes the names off the extents of these inputs, as SessionOptions::anonymous_extents_of says.
void ForgetExtentNames(const std::vector<std::string>& inputs, Graph& graph);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_ANONYMOUS_EXTENTS_H_
