// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_POOL_CHANNEL_WINDOWS_H_
#define ATTNRUN_OPS_POOL_CHANNEL_WINDOWS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace attnrun::ops {

// Windows that follow each other along a line of an image whose channels are the last axis, all of
// which have the same elements.
struct ChannelWindows {
  // The first window's first element.
  const float* x;
  // From window to window.
  int64_t step;
  // The elements of a window, from its first one.
  absl::Span<const int64_t> offsets;
  int64_t count;
  int64_t channels;
  // For averages.
  float divisor;
  // [count, channels]
  float* y;
};

// NaN is larger than any number; without elements, -inf.
void TakeMaxima(const ChannelWindows& windows);
void TakeAverages(const ChannelWindows& windows);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_POOL_CHANNEL_WINDOWS_H_
