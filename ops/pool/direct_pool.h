// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_DIRECT_POOL_H_
#define ATTNRUN_OPS_POOL_DIRECT_POOL_H_

#include <vector>

#include "ops/pool/pool.h"

namespace attnrun::ops {

// For every position along an axis, the elements of its window: those inside, or with padding.
std::vector<float> WindowCounts(const SlidingWindow& window, size_t axis, bool with_padding);

// True unless a table of the kernel's elements along the last axis would be absurdly large.
bool CanPoolDirectly(const PoolShape& shape);

// Computes y from x by loops over rows of y, in parallel, for poolings that oneDNN computes
// otherwise than ONNX or not at all: maxima with NaN, windows that reach beyond the padding,
// dilations, any number of axes. Not for kLp. An interrupted run leaves y unfinished.
void PoolDirectly(const PoolAttributes& attributes, const PoolShape& shape, const float* x,
                  float* y);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_DIRECT_POOL_H_
