// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_GRID_TAPS_H_
#define ATTNRUN_OPS_VISION_GRID_TAPS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "ops/vision/grid_sample.h"

namespace attnrun::ops {

// The places of a grid that the kernel samples together: a multiple of any vector's lanes, and few
// enough for their taps to stay in the L1 cache.
inline constexpr size_t kGridBlock = 64;
// Four elements along each of three axes.
inline constexpr size_t kMostGridTaps = 64;

// The elements that contribute to the results of one block, and their weights. A position of -1 is
// outside the image and counts as 0; so do those from `places` on.
struct GridTaps {
  size_t count;
  size_t places;
  alignas(64) int32_t positions[kMostGridTaps][kGridBlock];
  alignas(64) float weights[kMostGridTaps][kGridBlock];
};

// Finds the taps of `places` places, each given by one coordinate per axis of an image of these
// extents.
void FindGridTaps(const GridAttributes& attributes, absl::Span<const int64_t> extents,
                  const float* grid, size_t places, GridTaps& taps);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_GRID_TAPS_H_
