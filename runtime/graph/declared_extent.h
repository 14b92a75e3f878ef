// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_DECLARED_EXTENT_H_
#define ATTNRUN_GRAPH_DECLARED_EXTENT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "attnrun/model_info.h"
#include "graph/symbolic.h"

namespace attnrun {

// The name of an axis of a graph input: that of its dimension, or "x[1]" for axis 1 of input x if
// the dimension has none.
std::string AxisName(absl::string_view input, const Dim& dim, size_t axis);

// The extent that a graph input declares for an axis: a number or a symbol. An axis without a name
// has a symbol of its own.
SymInt DeclaredExtent(absl::string_view input, const Dim& dim, size_t axis);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_DECLARED_EXTENT_H_
