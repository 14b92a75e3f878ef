// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/phase_assembly.h"

#include <algorithm>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/conv/phase_rows.h"

namespace attnrun::ops {

// Walks over the rows of an image, row-major over all axes but the last.
class PhaseAssembly::Rows {
 public:
  Rows(const SlidingWindow& window, int64_t row) : window_(window) {
    const size_t axes = window.input.size() - 1;
    position_.resize(axes);
    phases_.resize(axes);
    steps_.resize(axes);
    for (size_t axis = axes; axis-- > 0;) {
      SetPosition(axis, row % window.input[axis]);
      row /= window.input[axis];
    }
  }

  // The phase, row-major, and the steps from the first that y needs.
  int64_t phase() const {
    int64_t phase = 0;
    for (size_t axis = 0; axis < phases_.size(); ++axis) {
      phase = phase * window_.strides[axis] + phases_[axis];
    }
    return phase;
  }
  const Shape& steps() const { return steps_; }

  // Goes on to the next row; true if that is the first one of another image.
  bool Next() {
    for (size_t axis = position_.size(); axis-- > 0;) {
      if (++position_[axis] < window_.input[axis]) {
        if (++phases_[axis] == window_.strides[axis]) {
          phases_[axis] = 0;
          ++steps_[axis];
        }
        return false;
      }
      SetPosition(axis, 0);
    }
    return true;
  }

 private:
  void SetPosition(size_t axis, int64_t position) {
    const int64_t stride = window_.strides[axis];
    const int64_t at = position + window_.pads_begin[axis] % stride;
    position_[axis] = position;
    phases_[axis] = at % stride;
    steps_[axis] = at / stride;
  }

  const SlidingWindow& window_;
  // By axis.
  Shape position_;
  Shape phases_;
  Shape steps_;
};

PhaseAssembly::PhaseAssembly(const ConvShape& transposed) : transposed_(transposed) {
  int64_t count = 1;
  for (const int64_t stride : transposed.window.strides) count *= stride;
  phases_.resize(count);
}

void PhaseAssembly::Add(const TransposedPart& part, const ConvShape& shape,
                        const Shape& first_steps, const float* result) {
  const SlidingWindow& window = transposed_.window;
  const Shape strides = DenseStrides(shape.window.output);
  const int64_t count = part.phases();
  int64_t start = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    start += (window.pads_begin[axis] / window.strides[axis] - first_steps[axis]) * strides[axis];
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    int64_t later = count;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      const auto& phases = part.axes[axis].phases;
      later /= static_cast<int64_t>(phases.size());
      at = at * window.strides[axis] + phases[i / later % phases.size()].phase;
    }
    phases_[at] = {.data = result + i * shape.output_size + start,
                   .feature_stride = count * shape.output_size,
                   .strides = strides};
  }
}

void PhaseAssembly::Write(const float* bias, float* y) const {
  constexpr int64_t kElementsPerPiece = 1 << 14;
  const Shape& extents = transposed_.window.input;
  const int64_t length = extents.back();
  const int64_t stride = transposed_.window.strides.back();
  const PhaseInterleaver interleaver(stride, transposed_.window.pads_begin.back() % stride, length);
  const int64_t rows_of_image = transposed_.output_size / length;
  const int64_t rows = transposed_.n * transposed_.m * rows_of_image;
  ParallelFor(rows, kElementsPerPiece / length + 1, [&](int64_t begin, int64_t end) {
    std::vector<const float*> pointers(stride);
    Rows walk(transposed_.window, begin % rows_of_image);
    int64_t image = begin / rows_of_image;
    for (int64_t row = begin; row < end; ++row) {
      if (row % 64 == 0 && Interrupted()) return;
      FindRows(image, walk, pointers);
      interleaver.Write(pointers, bias == nullptr ? 0.0F : bias[image % transposed_.m],
                        y + row * length);
      if (walk.Next()) ++image;
    }
  });
}

void PhaseAssembly::FindRows(int64_t image, const Rows& walk,
                             std::vector<const float*>& rows) const {
  const Shape& steps = walk.steps();
  const int64_t first = walk.phase() * static_cast<int64_t>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Phase& found = phases_[first + static_cast<int64_t>(i)];
    rows[i] = found.data;
    if (found.data == nullptr) continue;
    rows[i] += image * found.feature_stride;
    for (size_t axis = 0; axis < steps.size(); ++axis) rows[i] += steps[axis] * found.strides[axis];
  }
}

}  // namespace attnrun::ops
