// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "hwy/highway.h"
#include "ops/resize/resize.h"
#include "ops/resize/resize_table.h"
#include "ops/tensors/index_range.h"
#include "ops/tensors/machine_word.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Moving data is bound by memory, so the vectors that every machine has suffice.
namespace hn = hwy::HWY_NAMESPACE;

// to[2 * i] = to[2 * i + 1] = from[i] for i < count, and the same in the next of two rows.
template <typename T>
void CopyToSquares(const T* from, int64_t count, T* to) {
  const hn::FixedTag<T, 32 / sizeof(T)> d;
  constexpr int64_t kLanes = 32 / sizeof(T);
  T* const next = to + 2 * count;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto v = hn::LoadU(d, from + i);
    const auto low = hn::InterleaveWholeLower(d, v, v);
    const auto high = hn::InterleaveWholeUpper(d, v, v);
    for (T* const row : {to + 2 * i, next + 2 * i}) {
      hn::StoreU(low, d, row);
      hn::StoreU(high, d, row + kLanes);
    }
  }
  for (; i < count; ++i) to[2 * i] = to[2 * i + 1] = next[2 * i] = next[2 * i + 1] = from[i];
}

// The positions that an axis reads.
struct Source {
  std::vector<int64_t> positions;
  // Elements from one position to the next.
  int64_t stride;
};

// Copies x of words T to y row by row along the innermost axis that changes. Rows that repeat the
// row before them are copied from there.
template <typename T>
class NearestCopy {
 public:
  // `axes`: the first axis that changes to the last. `inner`: elements of one position of the last.
  NearestCopy(std::vector<Source> axes, int64_t inner, T outside)
      : axes_(std::move(axes)), inner_(inner), outside_(outside) {
    const std::vector<int64_t>& last = axes_.back().positions;
    doubles_ = inner == 1 && last.size() % 2 == 0;
    for (size_t i = 0; i < last.size(); ++i) {
      doubles_ = doubles_ && last[i] == static_cast<int64_t>(i / 2);
    }
    if (axes_.size() == 1) axes_.insert(axes_.begin(), {{0}, 0});
    for (size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= Extent(i);
  }

  // Rows of each image, and elements of a row.
  int64_t rows() const { return rows_; }
  int64_t length() const { return Extent(axes_.size() - 1) * inner_; }

  // Writes rows, counted over all images of `image_size` elements.
  void Copy(const T* x, int64_t image_size, IndexRange rows, T* y) const {
    const Source& lines = axes_[axes_.size() - 2];
    const int64_t count = Extent(axes_.size() - 2);
    while (rows.begin < rows.end && !Interrupted()) {
      const int64_t place = PlaceOf(rows.begin / count, image_size);
      const int64_t first = rows.begin % count;
      const int64_t end = std::min(count, first + rows.end - rows.begin);
      for (int64_t i = first; i < end; ++i) {
        const int64_t line = place == kOutside ? kOutside : lines.positions[i];
        T* const to = y + (rows.begin + i - first) * length();
        if (line == kOutside) {
          std::fill_n(to, length(), outside_);
        } else if (i > first && line == lines.positions[i - 1]) {
          std::memcpy(to, to - length(), length() * sizeof(T));
        } else if (doubles_ && i + 1 < end && line == lines.positions[i + 1]) {
          CopyToSquares(x + place + line * lines.stride, length() / 2, to);
          ++i;
        } else {
          CopyRow(x + place + line * lines.stride, to);
        }
      }
      rows.begin += end - first;
    }
  }

 private:
  static constexpr int64_t kOutside = -1;

  int64_t Extent(size_t i) const { return static_cast<int64_t>(axes_[i].positions.size()); }

  // The place in x of a block of rows along the last axis but one.
  int64_t PlaceOf(int64_t block, int64_t image_size) const {
    int64_t place = 0;
    for (size_t i = axes_.size() - 2; i-- > 0;) {
      const int64_t position = axes_[i].positions[block % Extent(i)];
      if (position < 0) return kOutside;
      place += position * axes_[i].stride;
      block /= Extent(i);
    }
    return place + block * image_size;
  }

  void CopyRow(const T* from, T* to) const {
    const std::vector<int64_t>& positions = axes_.back().positions;
    if (inner_ == 1) {
      for (const int64_t position : positions) *to++ = position < 0 ? outside_ : from[position];
    } else {
      for (const int64_t position : positions) {
        if (position < 0) {
          std::fill_n(to, inner_, outside_);
        } else {
          std::memcpy(to, from + position * inner_, inner_ * sizeof(T));
        }
        to += inner_;
      }
    }
  }

  std::vector<Source> axes_;
  const int64_t inner_;
  const T outside_;
  int64_t rows_ = 1;
  // True if the last axis holds every element twice.
  bool doubles_ = false;
};

class NearestKernel final : public Kernel {
 public:
  explicit NearestKernel(Resize op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override {
    return IsMachineWord(context.input(0).type()) && op_.Resolve(context).ok();
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, op_.Resolve(context));
    Tensor outside;
    if (op_.attributes().transformation == CoordinateTransformation::kTfCropAndResize) {
      ATTNRUN_ASSIGN_OR_RETURN(outside,
                               FromDoubles(x.type(), {}, {op_.attributes().extrapolation_value}));
    }
    Shape shape;
    for (const ResizeAxis& axis : axes) shape.push_back(axis.output);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    WithWord(x.type(), [&](auto word) {
      using T = decltype(word);
      Copy<T>(axes, x, outside.defined() ? *static_cast<const T*>(outside.raw()) : T(), *y);
    });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Copy(const std::vector<ResizeAxis>& axes, const Tensor& x, T outside, Tensor& y) const {
    const Shape strides = DenseStrides(x.shape());
    const auto changes = [&](size_t i) { return !IsUnchanged(op_.attributes(), axes[i]); };
    size_t first = 0;
    while (first < axes.size() && !changes(first)) ++first;
    if (first == axes.size()) return CopyBytes(y.mutable_raw(), x.raw(), x.byte_size());
    size_t last = axes.size() - 1;
    while (!changes(last)) --last;
    std::vector<Source> sources;
    for (size_t i = first; i <= last; ++i) {
      sources.push_back({NearestPositions(op_.attributes(), axes[i]), strides[i]});
    }
    const NearestCopy<T> copy(std::move(sources), strides[last], outside);
    const auto* const from = static_cast<const T*>(x.raw());
    auto* const to = static_cast<T*>(y.mutable_raw());
    const int64_t image_size = strides[first] * axes[first].input;
    ParallelFor(y.num_elements() / copy.length(),
                GrainOf(copy.length() * static_cast<int64_t>(sizeof(T))),
                [&](int64_t begin, int64_t end) { copy.Copy(from, image_size, {begin, end}, to); });
  }

  const Resize op_;
};

}  // namespace

std::unique_ptr<Kernel> MakeNearestKernel(const Resize& op) {
  return std::make_unique<NearestKernel>(op);
}

}  // namespace attnrun::ops
