// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_WINDOW_READER_H_
#define ATTNRUN_OPS_CONV_WINDOW_READER_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "ops/conv/sliding_window.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {

// Reads the windows of images [N, input.., C], whose channels are the last axis, as rows [kernel..,
// C]. It is fastest for windows of one line, one after the other.
class WindowReader {
 public:
  // `window` must outlive this.
  WindowReader(const SlidingWindow& window, int64_t channels);

  // Calls use(offset, count) for the runs of adjacent elements that make up window `index` of
  // [N, output..], in order: `count` elements at `offset` of the images, or, with an offset of -1,
  // zeros in the padding.
  template <typename Use>
  void Read(int64_t index, Use use) {
    const int64_t line = index / window_.output[last_];
    if (line != line_) GoTo(line);
    const int64_t column = index % window_.output[last_];
    const int64_t taps = window_.kernel[last_];
    IndexRange inside = window_.TapsInside(last_, column);
    if (inside.begin >= inside.end) inside = {taps, taps};
    const int64_t first = window_.coordinate(last_, column, inside.begin);
    for (const int64_t offset : lines_) {
      if (offset < 0) {
        use(-1, taps * channels_);
        continue;
      }
      if (inside.begin > 0) use(-1, inside.begin * channels_);
      for (int64_t tap = 0; tap < inside.size(); tap += adjacent_ ? taps : 1) {
        use(offset + (first + tap * window_.dilations[last_]) * channels_,
            (adjacent_ ? inside.size() : 1) * channels_);
      }
      if (inside.end < taps) use(-1, (taps - inside.end) * channels_);
    }
  }

 private:
  // Sets `lines_` for a line of windows.
  void GoTo(int64_t line);

  const SlidingWindow& window_;
  const int64_t channels_;
  const size_t last_;
  // True if the taps of a line of the kernel are adjacent.
  const bool adjacent_;
  int64_t line_ = -1;
  // For each line of the kernel, the offset of the line of the images that it reads, or -1 for
  // padding.
  absl::InlinedVector<int64_t, 16> lines_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_WINDOW_READER_H_
