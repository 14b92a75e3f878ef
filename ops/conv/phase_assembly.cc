// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/phase_assembly.h"

#include <algorithm>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/conv/phase_rows.h"

namespace attnrun::ops {

PhaseAssembly::PhaseAssembly(const ConvShape& transposed) : transposed_(transposed) {
  const SlidingWindow& window = transposed.window;
  int64_t count = 1;
  for (size_t axis = 0; axis < window.strides.size(); ++axis) {
    const int64_t stride = window.strides[axis];
    count *= stride;
    std::vector<Place>& places = places_.emplace_back();
    if (axis + 1 == window.strides.size()) break;
    for (int64_t i = 0; i < window.input[axis]; ++i) {
      const int64_t at = i + window.pads_begin[axis] % stride;
      places.push_back({at % stride, at / stride});
    }
  }
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
    // The position of a row in its image; the last axis is not used.
    Shape position(extents.size(), 0);
    int64_t rest = begin % rows_of_image;
    for (size_t axis = extents.size() - 1; axis-- > 0;) {
      position[axis] = rest % extents[axis];
      rest /= extents[axis];
    }
    int64_t image = begin / rows_of_image;
    for (int64_t row = begin; row < end; ++row) {
      if (row % 64 == 0 && Interrupted()) return;
      FindRows(image, position, pointers);
      interleaver.Write(pointers, bias == nullptr ? 0.0F : bias[image % transposed_.m],
                        y + row * length);
      auto axis = static_cast<int>(extents.size()) - 2;
      for (; axis >= 0 && ++position[axis] == extents[axis]; --axis) position[axis] = 0;
      if (axis < 0) ++image;
    }
  });
}

void PhaseAssembly::FindRows(int64_t image, const Shape& position,
                             std::vector<const float*>& rows) const {
  const size_t last = position.size() - 1;
  int64_t phase = 0;
  for (size_t axis = 0; axis < last; ++axis) {
    phase = phase * transposed_.window.strides[axis] + places_[axis][position[axis]].phase;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const Phase& found = phases_[phase * static_cast<int64_t>(rows.size()) + i];
    rows[i] = found.data;
    if (found.data == nullptr) continue;
    rows[i] += image * found.feature_stride;
    for (size_t axis = 0; axis < last; ++axis) {
      rows[i] += places_[axis][position[axis]].step * found.strides[axis];
    }
  }
}

}  // namespace attnrun::ops
