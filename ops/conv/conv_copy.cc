// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/conv/conv_tiles.h"
#include "ops/tensors/transpose_tile.h"

namespace attnrun::ops {
namespace {

// Consecutive positions along the last axis, within one piece of channels.
struct Line {
  const float* image;
  // The first row (channel, tap) of the piece, and the number of its rows.
  int64_t row;
  int64_t rows;
  int64_t begin;
  int64_t count;
  float* to;
};

class Copier {
 public:
  Copier(const ImageLayout& layout, const ConvShape& shape, const float* x, float* copy)
      : t_(layout), shape_(shape), source_(layout.source), x_(x), copy_(copy) {
    last_ = source_.output.size() - 1;
    per_line_ = (source_.output[last_] + kRun - 1) / kRun;
    lines_ = t_.source_positions / source_.output[last_];
  }

  int64_t size() const { return shape_.n * t_.groups * t_.pieces * lines_ * per_line_; }

  // Copies the index-th line.
  void Copy(int64_t index) const {
    const int64_t run = index % per_line_;
    const int64_t line_index = index / per_line_ % lines_;
    const int64_t piece = index / per_line_ / lines_;
    const int64_t pieces = t_.groups * t_.pieces;
    const int64_t group = piece % pieces / t_.pieces;
    Line line;
    line.image = x_ + piece / pieces * shape_.c * shape_.input_size;
    line.row = group * t_.group_channels + piece % t_.pieces * t_.piece_channels;
    line.rows = std::min(
        {t_.piece_channels, (group + 1) * t_.group_channels - line.row, t_.rows - line.row});
    // The position along all axes but the last.
    Shape position(last_ + 1);
    int64_t rest = line_index;
    for (size_t axis = last_; axis-- > 0; rest /= source_.output[axis]) {
      position[axis] = rest % source_.output[axis];
    }
    line.begin = run * kRun;
    line.count = std::min(kRun, source_.output[last_] - line.begin);
    line.to = copy_ + piece * t_.piece_size() +
              (line_index * source_.output[last_] + line.begin) * t_.piece_channels;
    if (line.rows < t_.piece_channels) Clear(line.to, line.count);
    if (t_.source_taps == 1) {
      CopyElements(line, position);
    } else {
      CopyWindows(line, position);
    }
    const bool ends = index % (per_line_ * lines_) == per_line_ * lines_ - 1;
    // Positions from source_positions on, which no output has, hold zeros.
    if (ends) Clear(line.to + line.count * t_.piece_channels, t_.positions - t_.source_positions);
  }

 private:
  // The maximum number of elements of a line.
  static constexpr int64_t kRun = 64;

  void Clear(float* to, int64_t positions) const {
    std::fill_n(to, std::max<int64_t>(positions, 0) * t_.piece_channels, 0.0F);
  }

  // Every element is a position: transposes.
  void CopyElements(const Line& line, const Shape& position) const {
    const auto offset = source_.LineOffset(position, 0);
    if (!offset.has_value()) return Clear(line.to, line.count);
    const int64_t start = line.begin - source_.pads_begin[last_];
    const auto [first, end] = PositionsInside(start, 1, 1, source_.input[last_], line.count);
    Clear(line.to, first);
    Clear(line.to + end * t_.piece_channels, line.count - end);
    if (end == first) return;
    constexpr int64_t kSize = sizeof(float);
    const float* from = line.image + line.row * shape_.input_size + *offset + start + first;
    TransposeMatrix(kSize, line.rows, end - first, reinterpret_cast<const char*>(from),
                    shape_.input_size * kSize,
                    reinterpret_cast<char*>(line.to + first * t_.piece_channels),
                    t_.piece_channels * kSize);
  }

  // Every window is a position: a window's elements along the last axis become adjacent.
  void CopyWindows(const Line& line, const Shape& position) const {
    const int64_t width = source_.kernel[last_];
    for (int64_t done = 0, run = 0; done < line.rows; done += run) {
      const int64_t row = line.row + done;
      run = std::min(width - row % width, line.rows - done);
      const auto offset = source_.LineOffset(position, row % t_.source_taps / width);
      const float* channel = line.image + row / t_.source_taps * shape_.input_size;
      CopyRuns(offset.has_value() ? channel + *offset : nullptr, line, row % width, run,
               line.to + done);
    }
  }

  // Copies `run` elements of the row `from` (null: padding) for each window of the line.
  void CopyRuns(const float* from, const Line& line, int64_t tap, int64_t run, float* to) const {
    const int64_t start = source_.coordinate(last_, line.begin, tap);
    const int64_t stride = source_.strides[last_];
    // Windows whose run lies inside the input.
    const IndexRange inside =
        from == nullptr ? IndexRange{0, 0}
                        : PositionsInside(start, stride, run, source_.input[last_], line.count);
    // A length known at compile time halves the time.
    const auto copy = [&](auto length) {
      for (int64_t i = inside.begin; i < inside.end; ++i) {
        std::memcpy(to + i * t_.piece_channels, from + start + i * stride, length * sizeof(float));
      }
    };
    switch (run) {
      case 4:
        copy(std::integral_constant<int64_t, 4>());
        break;
      case 16:
        copy(std::integral_constant<int64_t, 16>());
        break;
      default:
        copy(run);
    }
    const auto clip = [&](int64_t i) {
      for (int64_t j = 0; j < run; ++j) {
        const int64_t at = start + i * stride + j;
        const bool exists = from != nullptr && at >= 0 && at < source_.input[last_];
        to[i * t_.piece_channels + j] = exists ? from[at] : 0.0F;
      }
    };
    for (int64_t i = 0; i < inside.begin; ++i) clip(i);
    for (int64_t i = inside.end; i < line.count; ++i) clip(i);
  }

  const ImageLayout& t_;
  const ConvShape& shape_;
  const SlidingWindow& source_;
  const float* const x_;
  float* const copy_;
  size_t last_;
  int64_t per_line_;
  int64_t lines_;
};

}  // namespace

void CopyImages(const ImageLayout& layout, const ConvShape& shape, const float* x, float* copy) {
  constexpr int64_t kElementsPerPiece = 1 << 15;
  const Copier copier(layout, shape, x, copy);
  const int64_t elements = shape.n * layout.image_size() / copier.size() + 1;
  ParallelFor(copier.size(), kElementsPerPiece / elements + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i % 16 == 0 && Interrupted()) return;
      copier.Copy(i);
    }
  });
}

}  // namespace attnrun::ops
