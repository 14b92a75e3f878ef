// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_JOINS_H_
#define ATTNRUN_EXECUTION_JOINS_H_

#include <vector>

#include "execution/plan.h"

namespace attnrun::exec {

// How a step runs for several requests at once.
enum class JoinKind : uint8_t {
  // Depends on no input of the graph: once for all.
  kShared,
  // Positions do not see each other: once, on the positions of all requests one behind the other.
  kJoined,
  // Once for each request.
  kSeparate,
};

struct Join {
  JoinKind kind = JoinKind::kSeparate;
  // If the step is joined: for each input the axis of the positions, -1 for one that is shared or
  // left out; and for each output.
  std::vector<int> input_axes = {};
  std::vector<int> output_axes = {};
};

// One Join per step. A step is joined where the axis rule of its operator (ops/interface/axes.h)
// says that positions along an axis commute with any choice of them: the run on all positions then
// gives each request the result of its own run, to the bit.
std::vector<Join> FindJoins(const Plan& plan);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_JOINS_H_
