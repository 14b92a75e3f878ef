// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/window_reader.h"

namespace attnrun::ops {

WindowReader::WindowReader(const SlidingWindow& window, int64_t channels)
    : window_(window),
      channels_(channels),
      last_(window.kernel.size() - 1),
      adjacent_(window.dilations[last_] == 1) {
  int64_t lines = 1;
  for (size_t axis = 0; axis < last_; ++axis) lines *= window.kernel[axis];
  lines_.resize(lines);
}

void WindowReader::GoTo(int64_t line) {
  line_ = line;
  Shape position(last_ + 1);
  int64_t input_size = window_.input[last_];
  for (size_t axis = last_; axis-- > 0; line /= window_.output[axis]) {
    position[axis] = line % window_.output[axis];
    input_size *= window_.input[axis];
  }
  // The rest of `line` is the image.
  for (int64_t tap = 0; tap < std::ssize(lines_); ++tap) {
    const auto offset = window_.LineOffset(position, tap);
    lines_[tap] = offset.has_value() ? (line * input_size + *offset) * channels_ : -1;
  }
}

}  // namespace attnrun::ops
