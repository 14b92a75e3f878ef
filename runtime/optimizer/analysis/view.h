// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_VIEW_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_VIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/symbolic.h"

namespace attnrun::opt {

// An index along an axis, or a part of it: `size` steps of `stride` elements.
struct ViewFactor {
  SymInt size;
  SymInt stride;
  friend bool operator==(const ViewFactor& a, const ViewFactor& b) {
    return a.size == b.size && a.stride == b.stride;
  }
};

// The factors of an axis, over which its index counts with the last factor fastest. An axis without
// factors has extent 1.
using ViewAxis = std::vector<ViewFactor>;

// The positions of an axis from `first` on.
struct AxisPart {
  int axis = 0;
  SymInt first;
  SymInt count;
};

// Says for each element of a tensor which element of another dense tensor, the base, it is: the
// place of an index is an offset plus, for each axis, the sum of the steps that its factors count.
// Chains of Transpose, Reshape, Slice, Split, Gather, Squeeze, Unsqueeze, Expand and Tile are such
// views. For example the heads [S, N, H] split from rows [S, N * H] and transposed to [N, S, H] are
// the view N: N steps of H, S: S steps of N * H, H: H steps of 1. Kept in a normal form (factors of
// size 1 dropped, neighbours that form one even count merged), so that two chains that select the
// same elements are equal, however they were written.
class View {
 public:
  // All elements of a dense tensor of these extents.
  static View Dense(absl::Span<const SymInt> dims);
  // Places that begin at `start` and grow by steps[i] along each axis i.
  static View Counting(const SymInt& start, absl::Span<const SymInt> dims,
                       absl::Span<const SymInt> steps);

  const SymInt& offset() const { return offset_; }
  const std::vector<ViewAxis>& axes() const { return axes_; }
  int rank() const { return static_cast<int>(axes_.size()); }
  SymInt Extent(int axis) const;
  std::vector<SymInt> Dims() const;

  // The functions that follow return a view of this view; nullopt where it cannot be expressed, or
  // where it cannot be shown that it can.
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
  // An axis on which each element is repeated several times in a row: keeps each element once.
  View WithoutRepeats(int axis) const;
  // Every place multiplied by `factor`.
  View Scaled(const SymInt& factor) const;
  // The sums of the places of two views of equal extents.
  static std::optional<View> Sum(const View& a, const View& b);
  // Selects by index tensors along the axes first, first + 1, ...: `positions` has one view per
  // axis, of equal extents, whose places are the indices, none of them negative. The axes of the
  // index tensors replace the axes that they index.
  std::optional<View> Gathered(int first, absl::Span<const View> positions) const;
  // Views of one base, concatenated along an axis, if the result is a view, too: each must continue
  // the one before it, or all have equal axes and lie at equal distances from each other.
  static std::optional<View> Concatenated(absl::Span<const View> views, int axis);

  friend bool operator==(const View& a, const View& b) {
    return a.offset_ == b.offset_ && a.axes_ == b.axes_;
  }
  // The positions of one axis that the view has of a dense tensor of extents `dims`, if it has all
  // of the other axes and not all of that one; nullopt if it is something else.
  std::optional<AxisPart> PartOf(absl::Span<const SymInt> dims) const;

  // For messages of tests, in the form "64+[B:768 S:64 (12:3 64)]".
  std::string ToString() const;

 private:
  static std::optional<View> Continued(absl::Span<const View> views, int axis);

  SymInt offset_;
  std::vector<ViewAxis> axes_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_VIEW_H_
