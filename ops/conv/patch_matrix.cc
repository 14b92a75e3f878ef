// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/patch_matrix.h"

#include <algorithm>

namespace attnrun::ops {

void PatchMatrix::Copy(int64_t row, int64_t rows, int64_t column, int64_t columns, float* to,
                       int64_t width) const {
  const size_t axes = window_.output.size();
  Shape position(axes);
  int64_t rest = column;
  for (size_t axis = axes; axis-- > 0;) {
    position[axis] = rest % window_.output[axis];
    rest /= window_.output[axis];
  }
  for (int64_t done = 0; done < columns;) {
    const int64_t count = std::min(columns - done, window_.output[axes - 1] - position[axes - 1]);
    for (int64_t i = 0; i < rows; ++i) CopyRun(row + i, position, count, to + i * width + done);
    done += count;
    // Go on with the next row of the output.
    position[axes - 1] = 0;
    for (size_t axis = axes - 1; axis-- > 0;) {
      if (++position[axis] < window_.output[axis]) break;
      position[axis] = 0;
    }
  }
}

void PatchMatrix::CopyRun(int64_t row, const Shape& position, int64_t count, float* to) const {
  const size_t last = window_.kernel.size() - 1;
  const int64_t tap = row % kernel_size_;
  const auto line = window_.LineOffset(position, tap / window_.kernel[last]);
  if (!line.has_value()) {
    std::fill_n(to, count, 0.0F);
    return;
  }
  const float* from = channels_ + row / kernel_size_ * input_size_ + *line;
  const int64_t start = window_.coordinate(last, position[last], tap % window_.kernel[last]);
  const int64_t stride = window_.strides[last];
  const auto [begin, end] = PositionsInside(start, stride, 1, window_.input[last], count);
  std::fill_n(to, begin, 0.0F);
  if (stride == 1) {
    std::copy_n(from + start + begin, end - begin, to + begin);
  } else {
    for (int64_t i = begin; i < end; ++i) to[i] = from[start + i * stride];
  }
  std::fill(to + end, to + count, 0.0F);
}

}  // namespace attnrun::ops
