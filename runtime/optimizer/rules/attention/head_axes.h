// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_

#include <vector>

#include "optimizer/analysis/trace.h"

namespace attnrun::opt {

// Which of the scores' axes before the last two are samples and which are heads.
struct HeadAxes {
  SymInt batch;
  SymInt heads;
  // True if the axes are heads, then samples.
  bool heads_first = false;
  // True if, of three leading axes, the last two are heads (groups, and heads of a group); false if
  // the first two are samples.
  bool heads_split = false;
  // The leading axes as they are in the graph.
  std::vector<SymInt> leading;
};

// Derives which axes are samples and which are heads from strides: the view by which Q [leading...,
// S, H] (or [leading..., H, S] if `transposed`) was split from rows of channels steps over fewer
// elements from head to head than from position to position.
HeadAxes FindHeadAxes(Value* q, bool transposed, absl::Span<const SymInt> leading, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEAD_AXES_H_
