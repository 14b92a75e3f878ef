// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_INPUT_FIT_INPUT_NEEDS_H_
#define ATTNRUN_INPUT_FIT_INPUT_NEEDS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/symbolic.h"

namespace attnrun::fit {

// Conditions that the extents of a graph's inputs meet in every run that succeeds, as far as the
// operators' Infer tells. All numbers can be computed from those extents (DeclaredExtent).
struct InputNeeds {
  // At least 0.
  std::vector<SymInt> not_negative = {};
  // Equal to each other.
  std::vector<std::pair<SymInt, SymInt>> equal = {};
  // Equal to each other, or one of them 1.
  std::vector<std::pair<SymInt, SymInt>> broadcast = {};
  // By input: the extents of the axes that its elements index.
  std::map<std::string, std::vector<SymInt>> indexed = {};
};

// Reads the nodes of the main graph and of both branches of an If, not the bodies of loops.
InputNeeds NeedsOf(const Graph& graph);

}  // namespace attnrun::fit

#endif  // ATTNRUN_INPUT_FIT_INPUT_NEEDS_H_
