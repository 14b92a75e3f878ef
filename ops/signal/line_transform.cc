// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/line_transform.h"

#include <algorithm>

#include "ops/tensors/transpose_tile.h"

namespace attnrun::ops {
namespace {

// to[column][row] = from[row][column], with strides in floats.
void Transpose(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
               int64_t to_stride) {
  constexpr int64_t kSize = sizeof(float);
  TransposeMatrix(kSize, rows, columns, reinterpret_cast<const char*>(from), from_stride * kSize,
                  reinterpret_cast<char*>(to), to_stride * kSize);
}

// Makes the numbers [begin, end) of a transform of `length` the conjugates of their mirror images.
void Mirror(int64_t length, int64_t begin, int64_t end, int64_t lanes, float* x) {
  for (int64_t k = begin; k < end; ++k) {
    const float* const mirror = x + 2 * (length - k) * lanes;
    float* const number = x + 2 * k * lanes;
    std::copy_n(mirror, lanes, number);
    for (int64_t i = 0; i < lanes; ++i) number[lanes + i] = -mirror[lanes + i];
  }
}

}  // namespace

LineTransform::LineTransform(const LineFormat& format, const FftPlans& plans)
    : f_(format),
      lanes_(FftLanes()),
      pairs_(format.width == 1 && format.length % 2 == 0 && !format.inverse),
      plan_(plans.Get(pairs_ ? format.length / 2 : format.length, format.inverse)) {}

// Two buffers for the transform, and one for its completion.
int64_t LineTransform::scratch_floats() const { return 3 * 2 * (f_.length + 1) * lanes_; }

void LineTransform::Run(const float* from, LineStrides from_strides, int64_t count, float* to,
                        LineStrides to_strides, float* scratch) const {
  const int64_t size = 2 * (f_.length + 1) * lanes_;
  Read(from, from_strides, count, scratch);
  float* result = plan_->Run(scratch, scratch + size);
  if (pairs_) {
    plan_->SplitReal(result, scratch + 2 * size);
    result = scratch + 2 * size;
    Mirror(f_.length, f_.length / 2 + 1, f_.written, lanes_, result);
  }
  if (f_.inverse) Scale(result);
  Write(result, to_strides, count, to);
}

// A row of x holds a float of all lines: for pairs every row, else those of real parts if numbers
// have one float.
void LineTransform::Read(const float* from, LineStrides strides, int64_t count, float* x) const {
  const int64_t step = f_.width == 1 && !pairs_ ? 2 : 1;
  const int64_t rows = pairs_ ? f_.length : 2 * f_.length;
  const int64_t read = f_.given * f_.width;
  const bool leaves_gaps = count < lanes_ || step == 2;
  std::fill(x + (leaves_gaps ? 0 : read * lanes_), x + rows * lanes_, 0.0F);
  if (strides.numbers == f_.width) {
    Transpose(from, count, read, strides.lines, x, step * lanes_);
  } else {
    for (int64_t k = 0; k < f_.given; ++k) {
      const float* const number = from + k * strides.numbers;
      for (int64_t part = 0; part < f_.width; ++part) {
        float* const row = x + (k * f_.width + part) * step * lanes_;
        for (int64_t i = 0; i < count; ++i) row[i] = number[i * strides.lines + part];
      }
    }
  }
  if (f_.window != nullptr) {
    for (int64_t i = 0; i < read; ++i) {
      float* const row = x + i * step * lanes_;
      for (int64_t lane = 0; lane < lanes_; ++lane) row[lane] *= f_.window[i / f_.width];
    }
  }
  if (f_.mirrored) Mirror(f_.length, f_.length / 2 + 1, f_.length, lanes_, x);
}

void LineTransform::Scale(float* x) const {
  const float scale = 1.0F / static_cast<float>(f_.length);
  for (int64_t i = 0; i < 2 * f_.written * lanes_; ++i) x[i] *= scale;
}

void LineTransform::Write(const float* x, LineStrides strides, int64_t count, float* to) const {
  const int64_t step = f_.written_width == 1 ? 2 : 1;
  if (strides.numbers == f_.written_width) {
    Transpose(x, f_.written * f_.written_width, count, step * lanes_, to, strides.lines);
    return;
  }
  for (int64_t k = 0; k < f_.written; ++k) {
    float* const number = to + k * strides.numbers;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t part = 0; part < f_.written_width; ++part) {
        number[i * strides.lines + part] = x[(2 * k + part) * lanes_ + i];
      }
    }
  }
}

}  // namespace attnrun::ops
