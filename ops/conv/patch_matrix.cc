#include "ops/conv/patch_matrix.h"

#include <algorithm>

namespace attnrun {

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
    // On to the next row of the output.
    position[axes - 1] = 0;
    for (size_t axis = axes - 1; axis-- > 0;) {
      if (++position[axis] < window_.output[axis]) break;
      position[axis] = 0;
    }
  }
}

void PatchMatrix::CopyRun(int64_t row, const Shape& position, int64_t count, float* to) const {
  const size_t last = window_.kernel.size() - 1;
  int64_t tap = row % kernel_size_;
  const int64_t start = window_.coordinate(last, position[last], tap % window_.kernel[last]);
  tap /= window_.kernel[last];
  const float* from = channels_ + row / kernel_size_ * input_size_;
  int64_t step = window_.input[last];
  for (size_t axis = last; axis-- > 0;) {
    const int64_t at = window_.coordinate(axis, position[axis], tap % window_.kernel[axis]);
    tap /= window_.kernel[axis];
    if (at < 0 || at >= window_.input[axis]) {
      std::fill_n(to, count, 0.0F);
      return;
    }
    from += at * step;
    step *= window_.input[axis];
  }
  const int64_t stride = window_.strides[last];
  // Columns whose coordinate is below 0, and below the extent.
  const int64_t begin = start < 0 ? std::min(count, (stride - 1 - start) / stride) : 0;
  const int64_t room = window_.input[last] - start;
  const int64_t end = room <= 0 ? begin : std::clamp((room + stride - 1) / stride, begin, count);
  std::fill_n(to, begin, 0.0F);
  if (stride == 1) {
    std::copy_n(from + start + begin, end - begin, to + begin);
  } else {
    for (int64_t i = begin; i < end; ++i) to[i] = from[start + i * stride];
  }
  std::fill(to + end, to + count, 0.0F);
}

}  // namespace attnrun
