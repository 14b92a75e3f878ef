// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_DEPTHWISE_CONV_H_
#define ATTNRUN_OPS_CONV_DEPTHWISE_CONV_H_

#include <vector>

#include "ops/conv/channels_last_operands.h"
#include "ops/conv/conv.h"

namespace attnrun::ops {

// The weights w [C, 1, kernel..] of a depthwise convolution as [taps, C].
std::vector<float> DepthwiseWeights(const float* w, int64_t channels, int64_t taps);

// Convolves each channel of channels-last images by itself, vectors of channels at a time.
// Preconditions: IsDepthwise(shape), and y has elements.
void ConvolveDepthwise(const ConvShape& shape, const float* weights,
                       const ChannelsLastOperands& operands);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_DEPTHWISE_CONV_H_
