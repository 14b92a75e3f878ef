// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/padded_window.h"

#include <algorithm>

namespace attnrun::ops {

SlidingWindow OfTwoAxes(SlidingWindow window) {
  if (window.kernel.size() > 1) return window;
  for (Shape* ones :
       {&window.input, &window.kernel, &window.strides, &window.dilations, &window.output}) {
    ones->insert(ones->begin(), 1);
  }
  window.pads_begin.insert(window.pads_begin.begin(), 0);
  window.pads_end.insert(window.pads_end.begin(), 0);
  return window;
}

bool LiesInside(const SlidingWindow& window) {
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const int64_t last = window.coordinate(axis, window.output[axis] - 1, window.kernel[axis] - 1);
    if (window.pads_begin[axis] > 0 || last >= window.input[axis]) return false;
  }
  return true;
}

int64_t PaddedWindow::Planes() const {
  int64_t planes = 1;
  for (size_t axis = 0; axis + 2 < window_.kernel.size(); ++axis) planes *= window_.kernel[axis];
  return planes;
}

int64_t PaddedWindow::PlaneOf(const Shape& position, int64_t tap) const {
  int64_t plane = 0;
  int64_t step = 1;
  for (size_t axis = window_.kernel.size() - 2; axis-- > 0;) {
    const int64_t at = window_.coordinate(axis, position[axis], tap % window_.kernel[axis]);
    if (at < 0 || at >= window_.input[axis]) return -1;
    tap /= window_.kernel[axis];
    plane += at * step;
    step *= window_.input[axis];
  }
  return plane;
}

float* PaddedWindow::CopyLine(const float* from, IndexRange line, float* to) const {
  const size_t last = window_.kernel.size() - 1;
  const int64_t begin = window_.coordinate(last, line.begin, 0);
  const int64_t count = Line(line.size());
  const IndexRange inside = from == nullptr
                                ? IndexRange{count, count}
                                : PositionsInside(begin, 1, 1, window_.input[last], count);
  to = std::fill_n(to, inside.begin * channels_, 0.0F);
  if (inside.size() > 0) {
    to = std::copy_n(from + (begin + inside.begin) * channels_, inside.size() * channels_, to);
  }
  return std::fill_n(to, (count - inside.end) * channels_, 0.0F);
}

void PaddedWindow::Copy(const float* image, const WindowTile& tile, float* to) const {
  const size_t axis = window_.kernel.size() - 2;
  const int64_t line_size = window_.input[axis + 1] * channels_;
  const int64_t begin = window_.coordinate(axis, tile.rows.begin, 0);
  const int64_t rows = Rows(tile.rows.size());
  for (int64_t tap = 0; tap < Planes(); ++tap) {
    const int64_t plane = PlaneOf(tile.position, tap);
    for (int64_t row = begin; row < begin + rows; ++row) {
      const bool exists = plane >= 0 && row >= 0 && row < window_.input[axis];
      const int64_t line = plane * window_.input[axis] + row;
      to = CopyLine(exists ? image + line * line_size : nullptr, tile.line, to);
    }
  }
}

}  // namespace attnrun::ops
