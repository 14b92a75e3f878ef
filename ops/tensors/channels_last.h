// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_CHANNELS_LAST_H_
#define ATTNRUN_OPS_TENSORS_CHANNELS_LAST_H_

#include <cstdint>
#include <vector>

namespace attnrun::ops {

// Permutations of images of `rank` axes: ChannelsFirst from [N, .., C] to [N, C, ..], ChannelsLast
// back.
inline std::vector<int64_t> ChannelsFirst(int rank) {
  std::vector<int64_t> axes = {0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(axis);
  return axes;
}
inline std::vector<int64_t> ChannelsLast(int rank) {
  std::vector<int64_t> axes = {0};
  for (int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  axes.push_back(1);
  return axes;
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_CHANNELS_LAST_H_
