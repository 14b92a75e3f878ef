#ifndef ATTNRUN_OPTIMIZER_DEPENDS_ON_H_
#define ATTNRUN_OPTIMIZER_DEPENDS_ON_H_

#include "graph/graph.h"

namespace attnrun {

// Whether a value is computed from one of the node's outputs.
bool DependsOn(const Value& value, const Node& node);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_DEPENDS_ON_H_
