// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_INFER_H_
#define ATTNRUN_OPS_CONV_INFER_H_

#include "ops/conv/window.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

// The spatial extents of what windows over `input` [N, C, ..] give (see ResolveWindow), `kernel`
// being the kernel's spatial extents. Unknown ones where the attributes do not fit.
Dims InferWindow(const WindowAttributes& attributes, const Dims& input, const Dims& kernel);

// Whether the node is a Conv or ConvInteger of the standard domain, whose windows have weights.
bool HasWeightedWindows(const Node& node);
// Whether it is one of those, a MaxPool or an AveragePool.
bool HasWindows(const Node& node);

// What the padded input of a Conv or a pooling has beside one window, along each spatial axis, from
// the extents of its input and, if it has one, its weight: at least 0 in every run, as all others
// are refused. Empty where that is not known.
Dims RoomsForWindows(const Node& node, const Dims& input, const std::optional<Dims>& weight);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_INFER_H_
