// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_PADDED_WINDOW_H_
#define ATTNRUN_OPS_CONV_PADDED_WINDOW_H_

#include <cstdint>
#include <vector>

#include "ops/conv/sliding_window.h"
#include "ops/tensors/index_range.h"

// The input of a tile of windows over an image whose channels are the last axis.
namespace attnrun::ops {

// Windows that are computed together: a rectangle along the last two axes, at one position along
// the axes before them.
struct WindowTile {
  // Along the leading axes.
  Shape position;
  IndexRange rows;
  // Along the last axis.
  IndexRange line;
};

// The same windows with a leading axis of extent 1 if there is a single axis.
SlidingWindow OfTwoAxes(SlidingWindow window);

// True if no window reaches into the padding.
bool LiesInside(const SlidingWindow& window);

// A dense copy of what a tile reads, padding included: [planes, rows, line, channels], with one
// plane for each element of the kernel along the leading axes. The window has two axes or more.
class PaddedWindow {
 public:
  PaddedWindow(const SlidingWindow& window, int64_t channels)
      : window_(window), channels_(channels) {}

  // The extents of the copy for tiles of this size.
  int64_t Rows(int64_t rows) const { return Extent(window_.kernel.size() - 2, rows); }
  int64_t Line(int64_t line) const { return Extent(window_.kernel.size() - 1, line); }
  int64_t Planes() const;

  // `image`: [.., channels].
  void Copy(const float* image, const WindowTile& tile, float* to) const;

 private:
  int64_t Extent(size_t axis, int64_t count) const {
    return (count - 1) * window_.strides[axis] + window_.reach(axis);
  }
  // The plane of the image that a tap along the leading axes reads; -1 if it lies in the padding.
  int64_t PlaneOf(const Shape& position, int64_t tap) const;
  // Copies one line from `from`, null for padding.
  float* CopyLine(const float* from, IndexRange line, float* to) const;

  const SlidingWindow& window_;
  const int64_t channels_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_PADDED_WINDOW_H_
