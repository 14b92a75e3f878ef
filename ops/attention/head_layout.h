// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_HEAD_LAYOUT_H_
#define ATTNRUN_OPS_ATTENTION_HEAD_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/symbolic.h"
#include "ops/attention/streaming_attention.h"

namespace attnrun::ops {

// The heads [b, s, n, h] found in a tensor: sample, position, head and channel.
struct HeadView {
  static constexpr int64_t kAbsent = -1;

  // kAbsent where the layout lacks the role, whose stride is then 0.
  int64_t batch = kAbsent;
  int64_t sequence = kAbsent;
  int64_t heads = kAbsent;
  // 1 where the layout has no `h`.
  int64_t size = 1;
  // The offset of element (0, 0, 0, 0) and the strides from it, in elements of the tensor.
  int64_t offset = 0;
  HeadStrides strides;
};

// Where the heads [b, s, n, h] lie in a tensor of any rank. The text form has one entry per axis of
// that tensor, separated by blanks:
//   ROLE               the whole axis has that role: b, s, n or h
//   (F1 F2 ...)        the axis is split into factors, the outermost first: ROLE, ROLE:SIZE or
//                      _:SIZE, a gap, of which index 0 is used; "()" is index 0 of the axis
//   OFFSET+(F1 ...)    the same, OFFSET positions further along the axis
// One factor of an axis may lack its size; it takes the rest, which must be a whole number. If all
// have sizes, their product may be less than the axis: the factors then lie in a part of it. A role
// occurs at most once: it is not split over axes.
//   b s n h                 [B,S,N,H]
//   b s 32+(n:4 h:8)        K of 4 heads of 8 channels in packed [B,S,3*4*8]
//   b s 8+(n:4 _:3 h:8)     K in [B,S,4*3*8], packed head by head
//   (b n:4) s h             heads folded into the batch
//   1+(_:3) b n s h         index 1 of the first axis of [3,B,N,S,H]
struct HeadLayout {
  static constexpr int64_t kRest = -1;

  struct Factor {
    // 'b', 's', 'n', 'h' or '_'.
    char role;
    // At least 1, or kRest.
    int64_t size = kRest;

    friend bool operator==(const Factor& a, const Factor& b) {
      return a.role == b.role && a.size == b.size;
    }
  };
  struct Axis {
    int64_t offset = 0;
    // The outermost first.
    std::vector<Factor> factors;

    friend bool operator==(const Axis& a, const Axis& b) {
      return a.offset == b.offset && a.factors == b.factors;
    }
  };

  std::vector<Axis> axes;

  // Parses the text form. kInvalidArgument quotes the text and says what was expected where.
  static absl::StatusOr<HeadLayout> Parse(absl::string_view text);

  // The text form, which Parse reads as this layout, provided that Check is ok.
  std::string ToString() const;

  // kInvalidArgument for unknown or repeated roles, two factors of an axis without size, gaps
  // without size, sizes below 1 and negative offsets.
  absl::Status Check() const;

  // The heads in a dense tensor of `shape`, or in one with `strides`. kInvalidArgument as Check,
  // and where layout and shape do not fit, naming both.
  absl::StatusOr<HeadView> Resolve(absl::Span<const int64_t> shape) const;
  absl::StatusOr<HeadView> Resolve(absl::Span<const int64_t> shape,
                                   absl::Span<const int64_t> strides) const;

  // The extent of `role` in a tensor of these extents, unknown if it cannot be derived; nullopt if
  // the layout lacks the role.
  std::optional<SymInt> Extent(char role, const std::vector<SymInt>& dims) const;

  friend bool operator==(const HeadLayout& a, const HeadLayout& b) { return a.axes == b.axes; }
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_HEAD_LAYOUT_H_
