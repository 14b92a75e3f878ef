// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_DEPTHWISE_CONV_H_
#define ATTNRUN_OPS_CONV_DEPTHWISE_CONV_H_

#include "ops/conv/channels_last_operands.h"
#include "ops/conv/conv.h"

namespace attnrun::ops {

// Convolves each channel of channels-last images by itself, vectors of channels at a time.
// `weights`: [taps, C].
// Preconditions: IsDepthwise(shape), and y has elements.
void ConvolveDepthwise(const ConvShape& shape, const float* weights,
                       const ChannelsLastOperands& operands);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_DEPTHWISE_CONV_H_
