// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_INFER_H_
#define ATTNRUN_OPS_CONV_INFER_H_

#include "ops/conv/sliding_window.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

// The spatial extents of the output of windows over `input` [N, C, ..] (see ResolveWindow).
// `kernel`: the kernel's spatial extents. Unknown extents where the attributes do not fit. Requires
// that the padded input has room for one window.
Dims InferWindow(InferContext& context, const WindowAttributes& attributes, const Dims& input,
                 const Dims& kernel);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_INFER_H_
