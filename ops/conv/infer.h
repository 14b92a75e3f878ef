#ifndef ATTNRUN_OPS_CONV_INFER_H_
#define ATTNRUN_OPS_CONV_INFER_H_

#include "ops/conv/window.h"
#include "ops/infer_rules.h"

namespace attnrun {

// The spatial extents of what windows over `input` [N, C, ..] give (see ResolveWindow), `kernel`
// being the kernel's spatial extents. Unknown ones where the attributes do not fit.
Dims InferWindow(const WindowAttributes& attributes, const Dims& input, const Dims& kernel);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_CONV_INFER_H_
