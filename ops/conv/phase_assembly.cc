// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/phase_assembly.h"

#include <algorithm>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/conv/phase_rows.h"

namespace attnrun::ops {

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
  const int64_t length = transposed_.window.input.back();
  const int64_t rows = transposed_.n * transposed_.m * (transposed_.output_size / length);
  ParallelFor(rows, kElementsPerPiece / length + 1, [&](int64_t begin, int64_t end) {
    std::vector<const float*> pointers(transposed_.window.strides.back());
    for (int64_t row = begin; row < end; ++row) {
      if (row % 64 == 0 && Interrupted()) return;
      WriteRow(row, bias, y + row * length, pointers);
    }
  });
}

void PhaseAssembly::WriteRow(int64_t row, const float* bias, float* y,
                             std::vector<const float*>& rows) const {
  const SlidingWindow& window = transposed_.window;
  const size_t last = window.input.size() - 1;
  int64_t rest = row;
  // The phase, row-major over the outer axes, and the step along each of them, from the first on.
  int64_t phase = 0;
  int64_t phases = 1;
  Shape steps(last);
  for (size_t axis = last; axis-- > 0;) {
    const int64_t stride = window.strides[axis];
    const int64_t at = rest % window.input[axis] + window.pads_begin[axis] % stride;
    rest /= window.input[axis];
    steps[axis] = at / stride;
    phase += at % stride * phases;
    phases *= stride;
  }
  const auto count = static_cast<int64_t>(rows.size());
  for (int64_t i = 0; i < count; ++i) {
    const Phase& found = phases_[phase * count + i];
    rows[i] = found.data;
    if (found.data == nullptr) continue;
    rows[i] += rest * found.feature_stride;
    for (size_t axis = 0; axis < last; ++axis) rows[i] += steps[axis] * found.strides[axis];
  }
  InterleavePhases(rows, window.pads_begin[last] % count, window.input[last],
                   bias == nullptr ? 0.0F : bias[rest % transposed_.m], y);
}

}  // namespace attnrun::ops
