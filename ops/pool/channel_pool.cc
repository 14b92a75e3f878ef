// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/channel_pool.h"

#include <algorithm>
#include <vector>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/pool/channel_windows.h"
#include "ops/pool/direct_pool.h"

namespace attnrun::ops {
namespace {

class ChannelPool {
 public:
  ChannelPool(const PoolAttributes& attributes, const PoolShape& shape)
      : is_maximum_(attributes.pooling == Pooling::kMax),
        shape_(shape),
        image_(shape.window),
        channels_(shape.window.input.back()),
        last_(shape.window.input.size() - 2) {
    for (Shape* values : {&image_.input, &image_.kernel, &image_.strides, &image_.dilations,
                          &image_.pads_begin, &image_.pads_end, &image_.output}) {
      values->pop_back();
    }
    for (size_t axis = 0; axis <= last_ && !is_maximum_; ++axis) {
      counts_.push_back(WindowCounts(image_, axis, attributes.count_include_pad));
    }
  }

  // Lines of y, of all images.
  int64_t size() const {
    return shape_.count * (shape_.output_size / channels_ / image_.output[last_]);
  }
  // Elements of a line.
  int64_t line_size() const { return image_.output[last_] * channels_; }

  void PoolLine(int64_t index, const float* x, float* y) const {
    Shape position(last_ + 1);
    int64_t image = index;
    float divisor = 1;
    for (size_t axis = last_; axis-- > 0; image /= image_.output[axis]) {
      position[axis] = image % image_.output[axis];
      if (!is_maximum_) divisor *= counts_[axis][position[axis]];
    }
    const std::vector<int64_t> lines = LinesOf(position);
    x += image * shape_.input_size;
    y += index * line_size();
    std::vector<int64_t> offsets;
    // Windows with the same elements are pooled at once.
    for (int64_t begin = 0, end = 0; begin < image_.output[last_]; begin = end) {
      const IndexRange taps = image_.TapsInside(last_, begin);
      for (end = begin + 1; end < image_.output[last_] && Alike(begin, end, taps); ++end) {
      }
      OffsetsOf(lines, taps, offsets);
      Pool({.x = x + image_.coordinate(last_, begin, 0) * channels_,
            .step = image_.strides[last_] * channels_,
            .offsets = offsets,
            .count = end - begin,
            .channels = channels_,
            .divisor = is_maximum_ ? 1 : divisor * counts_[last_][begin],
            .y = y + begin * channels_});
    }
  }

 private:
  // True if the window at `other` has the elements `taps` along the line, and the count of `begin`.
  bool Alike(int64_t begin, int64_t other, const IndexRange& taps) const {
    const IndexRange inside = image_.TapsInside(last_, other);
    return inside.begin == taps.begin && inside.end == taps.end &&
           (is_maximum_ || counts_[last_][begin] == counts_[last_][other]);
  }

  // The beginnings of the lines that the windows at a position read.
  std::vector<int64_t> LinesOf(const Shape& position) const {
    std::vector<int64_t> lines;
    int64_t taps = 1;
    for (size_t axis = 0; axis < last_; ++axis) taps *= image_.kernel[axis];
    for (int64_t tap = 0; tap < taps; ++tap) {
      const auto offset = image_.LineOffset(position, tap);
      if (offset.has_value()) lines.push_back(*offset * channels_);
    }
    return lines;
  }

  void OffsetsOf(absl::Span<const int64_t> lines, const IndexRange& taps,
                 std::vector<int64_t>& offsets) const {
    offsets.clear();
    for (const int64_t line : lines) {
      for (int64_t tap = taps.begin; tap < taps.end; ++tap) {
        offsets.push_back(line + tap * image_.dilations[last_] * channels_);
      }
    }
  }

  void Pool(const ChannelWindows& windows) const {
    if (is_maximum_) {
      TakeMaxima(windows);
    } else {
      TakeAverages(windows);
    }
  }

  const bool is_maximum_;
  const PoolShape& shape_;
  // All axes but the channels.
  SlidingWindow image_;
  const int64_t channels_;
  // The axis of lines.
  const size_t last_;
  // By axis; of averages.
  std::vector<std::vector<float>> counts_;
};

}  // namespace

bool IsChannelPool(const PoolShape& shape) {
  // The most elements of a kernel whose offsets are listed.
  constexpr double kMost = 1 << 16;
  const SlidingWindow& window = shape.window;
  if (window.kernel.size() < 2) return false;
  const size_t last = window.kernel.size() - 1;
  double taps = 1;
  for (const int64_t extent : window.kernel) taps *= static_cast<double>(extent);
  return taps <= kMost && window.kernel[last] == 1 && window.strides[last] == 1 &&
         window.pads_begin[last] == 0 && window.pads_end[last] == 0;
}

void PoolChannels(const PoolAttributes& attributes, const PoolShape& shape, const float* x,
                  float* y) {
  constexpr int64_t kLeast = 1 << 12;
  const ChannelPool pool(attributes, shape);
  ParallelFor(pool.size(), kLeast / pool.line_size() + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !Interrupted(); ++i) pool.PoolLine(i, x, y);
  });
}

}  // namespace attnrun::ops
