// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_CHANNEL_POOL_H_
#define ATTNRUN_OPS_POOL_CHANNEL_POOL_H_

#include "ops/pool/pool.h"

namespace attnrun::ops {

// True if windows are one element wide along the last of several axes and begin at each of its
// elements, as those of images whose channels are that axis.
bool IsChannelPool(const PoolShape& shape);

// Computes y from x by vectors along the last axis, in parallel. Not for kLp. An interrupted run
// leaves y unfinished. Precondition: IsChannelPool(shape).
void PoolChannels(const PoolAttributes& attributes, const PoolShape& shape, const float* x,
                  float* y);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_CHANNEL_POOL_H_
