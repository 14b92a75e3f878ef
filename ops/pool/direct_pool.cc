// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/direct_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/interrupt.h"
#include "core/parallel.h"

namespace attnrun::ops {
namespace {

// The larger of two numbers; a if it is NaN, else b if that is.
float LargerOrNaN(float a, float b) { return a >= b || std::isnan(a) ? a : b; }

class DirectPool {
 public:
  DirectPool(const PoolAttributes& attributes, const PoolShape& shape)
      : is_maximum_(attributes.pooling == Pooling::kMax),
        shape_(shape),
        window_(shape.window),
        outer_(shape.window),
        last_(shape.window.input.size() - 1) {
    for (Shape* values : {&outer_.input, &outer_.kernel, &outer_.strides, &outer_.dilations,
                          &outer_.pads_begin, &outer_.pads_end, &outer_.output}) {
      values->pop_back();
    }
    FindTaps();
    if (is_maximum_) return;
    for (size_t axis = 0; axis <= last_; ++axis) {
      counts_.push_back(WindowCounts(window_, axis, attributes.count_include_pad));
    }
  }

  int64_t length() const { return window_.output[last_]; }
  // `row` counts over the rows of all images.
  void Row(int64_t row, const float* x, float* y) const {
    Shape position(last_, 0);
    int64_t rest = row;
    float divisor = 1;
    for (size_t axis = last_; axis-- > 0;) {
      position[axis] = rest % window_.output[axis];
      rest /= window_.output[axis];
      if (!is_maximum_) divisor *= counts_[axis][position[axis]];
    }
    float* const to = y + row * length();
    const float start = is_maximum_ ? -std::numeric_limits<float>::infinity() : 0;
    std::fill_n(to, length(), start);
    ForEachTap(outer_, position, [&](int64_t /*tap*/, int64_t offset) {
      AddLine(x + rest * shape_.input_size + offset * window_.input[last_], to);
    });
    for (int64_t i = 0; i < length() && !is_maximum_; ++i) to[i] /= divisor * counts_[last_][i];
  }

 private:
  // An element of the kernel along the last axis: the positions whose windows have it inside the
  // input, and the coordinate that it reads for the first position of all.
  struct Tap {
    IndexRange inside;
    int64_t start;
  };

  void FindTaps() {
    const int64_t stride = window_.strides[last_];
    const int64_t input = window_.input[last_];
    // Elements that no window has inside are skipped: there may be absurdly many. The first one
    // inside falls from position to position.
    int64_t next = 0;
    for (int64_t i = length(); i-- > 0;) {
      const IndexRange inside = window_.TapsInside(last_, i);
      for (next = std::max(next, inside.begin); next < inside.end; ++next) {
        const int64_t start = window_.coordinate(last_, 0, next);
        taps_.push_back({PositionsInside(start, stride, 1, input, length()), start});
      }
    }
  }

  // Adds a line of the input to the row, or takes its maxima. NaN is larger than any number.
  void AddLine(const float* line, float* to) const {
    const int64_t stride = window_.strides[last_];
    for (const auto& [inside, start] : taps_) {
      const float* const from = line + start;
      if (is_maximum_) {
        for (int64_t i = inside.begin; i < inside.end; ++i) {
          to[i] = LargerOrNaN(to[i], from[i * stride]);
        }
      } else if (stride == 1) {
        for (int64_t i = inside.begin; i < inside.end; ++i) to[i] += from[i];
      } else {
        for (int64_t i = inside.begin; i < inside.end; ++i) to[i] += from[i * stride];
      }
    }
  }

  const bool is_maximum_;
  const PoolShape& shape_;
  const SlidingWindow& window_;
  // All axes but the last.
  SlidingWindow outer_;
  const size_t last_;
  std::vector<Tap> taps_;
  // By axis; of averages.
  std::vector<std::vector<float>> counts_;
};

}  // namespace

std::vector<float> WindowCounts(const SlidingWindow& window, size_t axis, bool with_padding) {
  std::vector<float> counts(window.output[axis]);
  const int64_t dilation = window.dilations[axis];
  for (int64_t i = 0; i < window.output[axis]; ++i) {
    const IndexRange inside = window.TapsInside(axis, i);
    int64_t count = std::max<int64_t>(inside.end - inside.begin, 0);
    if (with_padding) {
      const int64_t room =
          window.input[axis] + window.pads_end[axis] - window.coordinate(axis, i, 0);
      count = std::min(window.kernel[axis], (room + dilation - 1) / dilation);
    }
    counts[i] = static_cast<float>(count);
  }
  return counts;
}

bool CanPoolDirectly(const PoolShape& shape) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const SlidingWindow& window = shape.window;
  return window.input.empty() ||
         std::min(window.kernel.back(), window.output.back() * window.input.back()) <= kMost;
}

void PoolDirectly(const PoolAttributes& attributes, const PoolShape& shape, const float* x,
                  float* y) {
  constexpr int64_t kLeast = 1 << 12;
  if (shape.window.input.empty()) {
    // Each image is a single element.
    std::copy_n(x, shape.count, y);
    return;
  }
  const DirectPool pool(attributes, shape);
  const int64_t rows = shape.count * (shape.output_size / pool.length());
  ParallelFor(rows, kLeast / pool.length() + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (row % 64 == 0 && Interrupted()) return;
      pool.Row(row, x, y);
    }
  });
}

}  // namespace attnrun::ops
