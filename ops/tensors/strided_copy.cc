// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/parallel.h"
#include "ops/tensors/transpose_tile.h"

namespace attnrun::ops {
namespace {

// One axis of the box, strides in bytes.
struct Axis {
  int64_t extent;
  int64_t source;
  int64_t target;
};
using Axes = absl::InlinedVector<Axis, 8>;

// Drops axes of extent 1 and merges axes that step as one; outermost first.
Axes Collapse(int width, absl::Span<const int64_t> extents, absl::Span<const int64_t> source,
              absl::Span<const int64_t> target) {
  Axes axes;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    const Axis axis = {extents[i], source[i] * width, target[i] * width};
    if (!axes.empty() && axes.back().source == axis.extent * axis.source &&
        axes.back().target == axis.extent * axis.target) {
      axes.back() = {axes.back().extent * axis.extent, axis.source, axis.target};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// A position of the outer axes, counted like an odometer.
class Odometer {
 public:
  Odometer(const Axes& axes, int64_t position) : axes_(axes), index_(axes.size()) {
    for (size_t i = axes.size(); i-- > 0;) {
      index_[i] = position % axes[i].extent;
      position /= axes[i].extent;
      source_ += index_[i] * axes[i].source;
      target_ += index_[i] * axes[i].target;
    }
  }
  int64_t source() const { return source_; }
  int64_t target() const { return target_; }
  void Advance() {
    for (size_t i = axes_.size(); i-- > 0;) {
      source_ += axes_[i].source;
      target_ += axes_[i].target;
      if (++index_[i] < axes_[i].extent) return;
      source_ -= axes_[i].source * axes_[i].extent;
      target_ -= axes_[i].target * axes_[i].extent;
      index_[i] = 0;
    }
  }

 private:
  const Axes& axes_;
  Shape index_;
  int64_t source_ = 0;
  int64_t target_ = 0;
};

int64_t Count(const Axes& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

// Copies `rows` runs of Bytes bytes each: the compiler turns a known size into a few vector moves.
template <int64_t Bytes>
void CopyRowsOf(int64_t rows, const char* source, int64_t source_stride, char* target,
                int64_t target_stride) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(target, source, Bytes);
    source += source_stride;
    target += target_stride;
  }
}

void CopyRows(int64_t bytes, int64_t rows, const char* source, int64_t source_stride, char* target,
              int64_t target_stride) {
  switch (bytes) {
    case 1:
      return CopyRowsOf<1>(rows, source, source_stride, target, target_stride);
    case 2:
      return CopyRowsOf<2>(rows, source, source_stride, target, target_stride);
    case 4:
      return CopyRowsOf<4>(rows, source, source_stride, target, target_stride);
    case 8:
      return CopyRowsOf<8>(rows, source, source_stride, target, target_stride);
    case 16:
      return CopyRowsOf<16>(rows, source, source_stride, target, target_stride);
    case 32:
      return CopyRowsOf<32>(rows, source, source_stride, target, target_stride);
    case 64:
      return CopyRowsOf<64>(rows, source, source_stride, target, target_stride);
    case 128:
      return CopyRowsOf<128>(rows, source, source_stride, target, target_stride);
    case 256:
      return CopyRowsOf<256>(rows, source, source_stride, target, target_stride);
    default:
      break;
  }
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(target, source, bytes);
    source += source_stride;
    target += target_stride;
  }
}

// Calls visit(source offset, target offset, first, count) for stretches of the `rows` innermost
// rows at every position of the outer axes, split over threads.
template <typename Visit>
void ForEachStretch(const Axes& outer, int64_t rows, int64_t bytes_per_row, Visit visit) {
  ParallelFor(Count(outer) * rows, GrainOf(bytes_per_row), [&](int64_t begin, int64_t end) {
    Odometer odometer(outer, begin / rows);
    for (int64_t first = begin % rows; begin < end; first = 0) {
      const int64_t count = std::min(rows - first, end - begin);
      visit(odometer.source(), odometer.target(), first, count);
      begin += count;
      odometer.Advance();
    }
  });
}

// Copies rows of `bytes` contiguous bytes.
void CopyRuns(Axes axes, int64_t bytes, const char* source, char* target) {
  Axis rows = {1, 0, 0};
  if (!axes.empty()) {
    rows = axes.back();
    axes.pop_back();
  }
  ForEachStretch(axes, rows.extent, bytes,
                 [&](int64_t from, int64_t to, int64_t first, int64_t count) {
                   CopyRows(bytes, count, source + from + first * rows.source, rows.source,
                            target + to + first * rows.target, rows.target);
                 });
}

// Copies rows that repeat one element each (a broadcast innermost axis).
void CopyRepeated(Axes axes, int width, const char* source, char* target) {
  const int64_t length = axes.back().extent;
  axes.pop_back();
  ForEachStretch(axes, 1, length * width, [&](int64_t from, int64_t to, int64_t, int64_t) {
    FillElements(width, target + to, length, source + from);
  });
}

// Transposes matrices in strips of a cache line, or of several where they have few rows: `across`
// is contiguous in the source, `along` in the target.
void CopyTransposed(const Axes& outer, Axis along, Axis across, int width, const char* source,
                    char* target) {
  constexpr int64_t kFewRows = 4;
  const int64_t strip = (along.extent < kFewRows ? 1024 : 64) / width;
  const int64_t strips = (across.extent + strip - 1) / strip;
  ForEachStretch(outer, strips, strip * along.extent * width,
                 [&](int64_t from, int64_t to, int64_t first, int64_t count) {
                   for (int64_t i = first; i < first + count; ++i) {
                     const int64_t column = i * strip;
                     TransposeMatrix(width, along.extent, std::min(strip, across.extent - column),
                                     source + from + column * across.source, along.source,
                                     target + to + column * across.target, across.target);
                   }
                 });
}

// The axis other than the innermost that is contiguous in the source, or -1.
int FindSourceInner(const Axes& axes, int width) {
  for (int i = 0; i + 1 < static_cast<int>(axes.size()); ++i) {
    if (axes[i].source == width) return i;
  }
  return -1;
}

template <typename T>
void Fill(void* target, int64_t count, const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  std::fill_n(static_cast<T*>(target), count, value);
}

}  // namespace

bool MovesAsBytes(DataType type) { return type != DataType::kString && BitWidth(type) >= 8; }

Shape StridesOf(const Tensor& tensor) {
  return tensor.is_dense() ? DenseStrides(tensor.shape()) : tensor.strides();
}

void CopyStrided(int width, absl::Span<const int64_t> extents, const void* source,
                 absl::Span<const int64_t> source_strides, void* target,
                 absl::Span<const int64_t> target_strides) {
  for (const int64_t extent : extents) {
    if (extent == 0) return;
  }
  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(target);
  Axes axes = Collapse(width, extents, source_strides, target_strides);
  if (axes.empty()) {
    std::memcpy(to, from, width);
    return;
  }
  const Axis inner = axes.back();
  if (inner.target == width && inner.source == width) {
    axes.pop_back();
    if (axes.empty()) return CopyBytes(to, from, inner.extent * width);
    return CopyRuns(std::move(axes), inner.extent * width, from, to);
  }
  if (inner.target == width && inner.source == 0) {
    return CopyRepeated(std::move(axes), width, from, to);
  }
  const int across = FindSourceInner(axes, width);
  if (inner.target == width && across >= 0 && width <= 8 && inner.extent >= 2 &&
      axes[across].extent >= 4) {
    const Axis columns = axes[across];
    axes.pop_back();
    axes.erase(axes.begin() + across);
    return CopyTransposed(axes, inner, columns, width, from, to);
  }
  CopyRuns(std::move(axes), width, from, to);
}

void CopyBytes(void* target, const void* source, int64_t bytes) {
  ParallelFor(bytes, kBytesPerThread, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(target) + begin, static_cast<const char*>(source) + begin,
                end - begin);
  });
}

void FillElements(int width, void* target, int64_t count, const void* element) {
  switch (width) {
    case 1:
      return Fill<uint8_t>(target, count, element);
    case 2:
      return Fill<uint16_t>(target, count, element);
    case 4:
      return Fill<uint32_t>(target, count, element);
    case 8:
      return Fill<uint64_t>(target, count, element);
    default: {
      CopyRowsOf<16>(count, static_cast<const char*>(element), 0, static_cast<char*>(target), 16);
    }
  }
}

}  // namespace attnrun::ops
