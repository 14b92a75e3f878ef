// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_INFER_H_
#define ATTNRUN_OPS_CONV_INFER_H_

#include "ops/conv/sliding_window.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

// The spatial extents of the output of windows over `input` [N, C, ..] (see ResolveWindow).
// `kernel`: the kernel's spatial extents. Unknown extents where the attributes do not fit.
Dims InferWindow(const WindowAttributes& attributes, const Dims& input, const Dims& kernel);

// True if the node is a Conv or ConvInteger of the standard domain, whose windows have weights.
bool HasWeightedWindows(const Node& node);
// True if it is one of those, a MaxPool or an AveragePool.
bool HasWindows(const Node& node);

// The padded extent minus one window, along each spatial axis of a Conv or pooling node, from the
// extents of its input and of its weight, if it has one. At least 0 in every run that succeeds.
// Empty if unknown.
Dims RoomsForWindows(const Node& node, const Dims& input, const std::optional<Dims>& weight);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_INFER_H_
