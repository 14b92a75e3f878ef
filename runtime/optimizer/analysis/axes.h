// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_AXES_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_AXES_H_

#include "absl/types/span.h"
#include "ops/interface/axes.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The axes of a node that go together, from what is known of its inputs and outputs.
ops::AxisRule AxesOf(const Node& node, Facts& facts);

// The same for the node's operator and attributes beside other inputs: of these facts, one for each
// input, null where it is left out. So a rewrite can ask, before it turns the inputs of a node,
// whether the outputs turn likewise: that is so if the axes that move are in tracks, and the tracks
// of the turned inputs are those of the node, turned.
ops::AxisRule AxesOf(const Node& node, absl::Span<const ops::ValueFacts* const> inputs);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_AXES_H_
