// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_

#include <vector>

#include "optimizer/analysis/trace.h"

namespace attnrun::opt {

// How the axes of the scores before the last two are sample and head.
struct HeadAxes {
  SymInt batch;
  SymInt heads;
  // The axes are heads, then samples.
  bool heads_first = false;
  // True if, of three leading axes, the last two are heads (groups, and heads of a group); false if
  // the first two are samples.
  bool heads_split = false;
  // The leading axes as they are in the graph.
  std::vector<SymInt> leading;
};

// Tells sample from head by how Q [leading..., S, H] came to be.
HeadAxes FindHeadAxes(Value* q, bool transposed, absl::Span<const SymInt> leading, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_
