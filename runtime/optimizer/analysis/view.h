// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_VIEW_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_VIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/symbolic.h"

namespace attnrun::opt {

// `size` steps of `stride` elements.
struct ViewFactor {
  SymInt size;
  SymInt stride;
  friend bool operator==(const ViewFactor& a, const ViewFactor& b) {
    return a.size == b.size && a.stride == b.stride;
  }
};

// An index along an axis counts through its factors, the last one fastest. No factors: extent 1.
using ViewAxis = std::vector<ViewFactor>;

// Which element of a dense tensor, the base, each element of another tensor is: what chains of
// Transpose, Reshape, Slice, Split, Gather, Squeeze, Unsqueeze, Expand and Tile come to. Kept in a
// normal form (factors of size 1 dropped, neighbours that count on from each other merged), so that
// two chains that select the same elements are equal, however they were written.
class View {
 public:
  // All of a dense tensor of these extents.
  static View Dense(absl::Span<const SymInt> dims);
  // Places that count on from `start` by `steps` along each axis.
  static View Counting(const SymInt& start, absl::Span<const SymInt> dims,
                       absl::Span<const SymInt> steps);

  const SymInt& offset() const { return offset_; }
  const std::vector<ViewAxis>& axes() const { return axes_; }
  int rank() const { return static_cast<int>(axes_.size()); }
  SymInt Extent(int axis) const;
  std::vector<SymInt> Dims() const;

  // The functions that follow return the view of the view; nullopt where it cannot be expressed, or
  // where it is not plain to see that it can.
  View Transposed(absl::Span<const int64_t> permutation) const;
  std::optional<View> Reshaped(absl::Span<const SymInt> dims) const;
  // `length` elements of an axis from `start` on, `step` apart.
  std::optional<View> Sliced(int axis, const SymInt& start, const SymInt& length,
                             int64_t step = 1) const;
  // Without an axis of extent 1.
  std::optional<View> Squeezed(int axis) const;
  // With a new axis of extent 1 before axis `axis`.
  View Unsqueezed(int axis) const;
  // As ONNX's Expand with a shape that leaves these extents.
  std::optional<View> Expanded(absl::Span<const SymInt> dims) const;
  // An axis repeated as a whole, `times` times.
  View Tiled(int axis, const SymInt& times) const;
  // An axis each of whose elements occurs several times in a row, with each once.
  View WithoutRepeats(int axis) const;
  // Every place times `factor`.
  View Scaled(const SymInt& factor) const;
  // The places of two views of equal extents, added up.
  static std::optional<View> Sum(const View& a, const View& b);
  // Selects by index tensors along the axes first, first + 1, ...: `positions` has one view per
  // axis, of equal extents, whose places are the indices, none of them negative. The axes of the
  // index tensors replace the axes that they index.
  std::optional<View> Gathered(int first, absl::Span<const View> positions) const;
  // Views of equal axes over one base, one after the other along an axis, if that is a view, too:
  // each must lie as far from the one before it as the next.
  static std::optional<View> Concatenated(absl::Span<const View> views, int axis);

  friend bool operator==(const View& a, const View& b) {
    return a.offset_ == b.offset_ && a.axes_ == b.axes_;
  }
  // "64+[B:768 S:64 (12:3 64)]"-like, for messages of tests.
  std::string ToString() const;

 private:
  SymInt offset_;
  std::vector<ViewAxis> axes_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_VIEW_H_
