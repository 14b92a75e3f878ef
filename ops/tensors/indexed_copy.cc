// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/indexed_copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "hwy/highway.h"
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
class IndexedCopy {
 public:
  // `axes`: the first axis that changes to the last. `inner`: elements of one position of the last.
  IndexedCopy(std::vector<Source> axes, int64_t inner, T outside)
      : axes_(std::move(axes)), inner_(inner), outside_(outside) {
    const std::vector<int64_t>& last = axes_.back().positions;
    doubles_ = inner == 1 && last.size() % 2 == 0;
    for (size_t i = 0; i < last.size(); ++i) {
      doubles_ = doubles_ && last[i] == static_cast<int64_t>(i / 2);
    }
    if (axes_.size() == 1) axes_.insert(axes_.begin(), {{0}, 0});
    FindRun();
  }

  // Elements of a row.
  int64_t length() const { return Extent(axes_.size() - 1) * inner_; }

  // Writes rows, counted over all images, which have `image_size` elements each.
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

  // Sets run_ to the longest run of adjacent positions along the last axis.
  void FindRun() {
    const std::vector<int64_t>& positions = axes_.back().positions;
    int64_t begin = 0;
    for (int64_t i = 1; i <= Extent(axes_.size() - 1); ++i) {
      const bool goes_on = i < Extent(axes_.size() - 1) && positions[i] == positions[i - 1] + 1 &&
                           positions[i - 1] >= 0;
      if (goes_on) continue;
      if (i - begin > run_.end - run_.begin) run_ = {begin, i};
      begin = i;
    }
    if (positions[run_.begin] < 0) run_ = {0, 0};
  }

  void CopyRow(const T* from, T* to) const {
    CopyPositions(from, {0, run_.begin}, to);
    if (run_.end > run_.begin) {
      std::memcpy(to + run_.begin * inner_, from + axes_.back().positions[run_.begin] * inner_,
                  (run_.end - run_.begin) * inner_ * sizeof(T));
    }
    CopyPositions(from, {run_.end, Extent(axes_.size() - 1)}, to);
  }

  void CopyPositions(const T* from, IndexRange range, T* to) const {
    const int64_t* const positions = axes_.back().positions.data();
    if (inner_ == 1) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        to[i] = positions[i] < 0 ? outside_ : from[positions[i]];
      }
      return;
    }
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (positions[i] < 0) {
        std::fill_n(to + i * inner_, inner_, outside_);
      } else {
        std::memcpy(to + i * inner_, from + positions[i] * inner_, inner_ * sizeof(T));
      }
    }
  }

  std::vector<Source> axes_;
  const int64_t inner_;
  const T outside_;
  IndexRange run_ = {0, 0};
  // True if the last axis holds every element twice.
  bool doubles_ = false;
};

template <typename T>
void Copy(const Tensor& x, std::vector<std::vector<int64_t>> positions, T outside, Tensor& y) {
  const Shape strides = DenseStrides(x.shape());
  size_t first = 0;
  while (first < positions.size() && positions[first].empty()) ++first;
  if (first == positions.size()) return CopyBytes(y.mutable_raw(), x.raw(), x.byte_size());
  size_t last = positions.size() - 1;
  while (positions[last].empty()) --last;
  std::vector<Source> sources;
  for (size_t i = first; i <= last; ++i) {
    if (positions[i].empty()) {
      positions[i].resize(x.shape()[i]);
      std::iota(positions[i].begin(), positions[i].end(), 0);
    }
    sources.push_back({std::move(positions[i]), strides[i]});
  }
  const IndexedCopy<T> copy(std::move(sources), strides[last], outside);
  const auto* const from = static_cast<const T*>(x.raw());
  auto* const to = static_cast<T*>(y.mutable_raw());
  const int64_t image_size = strides[first] * x.shape()[first];
  ParallelFor(y.num_elements() / copy.length(),
              GrainOf(copy.length() * static_cast<int64_t>(sizeof(T))),
              [&](int64_t begin, int64_t end) { copy.Copy(from, image_size, {begin, end}, to); });
}

}  // namespace

void CopyIndexed(const Tensor& x, std::vector<std::vector<int64_t>> positions, const void* outside,
                 Tensor& y) {
  WithWord(x.type(), [&](auto word) {
    std::memcpy(&word, outside, sizeof(word));
    Copy(x, std::move(positions), word, y);
  });
}

}  // namespace attnrun::ops
