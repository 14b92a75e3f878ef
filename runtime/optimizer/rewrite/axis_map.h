// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_AXIS_MAP_H_
#define ATTNRUN_OPTIMIZER_REWRITE_AXIS_MAP_H_

#include <array>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/analysis/view.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// How the axes of one tensor make up the axes of another: each axis is split into parts, the parts
// change places, and neighbours are joined again.
//
//   [B*N, S, T]  ->  [B, N, S, T]  ->  [S, B, N, T]  ->  [S, B, N*T]
//
// Both tensors are described as views of one base, in which an axis is a place to count along. An
// axis of `to` of which `from` knows nothing has extent 1 there, as in broadcasting.
class AxisMap {
 public:
  // nullopt if the parts of the two do not fit into each other. No view may repeat elements.
  static std::optional<AxisMap> Between(absl::Span<const ViewAxis> from,
                                        absl::Span<const ViewAxis> to);

  // True if both split, move and join the same parts.
  friend bool operator==(const AxisMap& a, const AxisMap& b) {
    return a.parts_ == b.parts_ && a.order_ == b.order_ && a.from_rank_ == b.from_rank_ &&
           a.to_rank_ == b.to_rank_;
  }

  // The functions that follow take a tensor with the axes of `from` and then `kept` more axes,
  // which stay the last ones. An extent may be 1 in place of that of `from`; axes on the left may
  // be missing. An axis that is neither split nor joined may have another symbol in place of a
  // symbol.

  // The extents that the value gets, some of which may be 1 in place of those of `to`; nullopt if
  // it does not fit.
  std::optional<std::vector<SymInt>> Extents(absl::Span<const SymInt> dims, int kept = 0) const;

  // The view with the axes of `to`, and all extents of `to` that `from` has or that broadcast.
  std::optional<View> Apply(const View& view, int kept = 0) const;

  // The value with axes that broadcast to `to`. Here a symbol may also stand for a number, as in an
  // operand that broadcasts in some runs. Extents that are not numbers are read off `like`. Null if
  // that cannot be written.
  Value* Apply(Patch& patch, Value* value, absl::Span<Value* const> like, int kept = 0) const;

 private:
  // A part of an axis. `from` and `to` are axes of the two tensors, kNone where one lacks the part.
  static constexpr int kNone = -1;
  struct Part {
    SymInt size;
    int from = kNone;
    int to = kNone;

    friend bool operator==(const Part& a, const Part& b) {
      return a.size == b.size && a.from == b.from && a.to == b.to;
    }
  };
  // The axes that one tensor gets.
  struct Plan;

  std::optional<Plan> PlanFor(absl::Span<const SymInt> of, int kept) const;
  int PartsOf(int from) const;
  // True if the axis is one part, and the only one of its axis of `to`, so that it may have any
  // extent.
  bool KeepsAny(int from) const;
  // The extent of the axis in `from`.
  SymInt ExtentOf(int from) const;
  // True if extents that differ from those of `from` are 1 or another name of them.
  bool Names(absl::Span<const SymInt> dims, int kept) const;

  int from_rank_ = 0;
  int to_rank_ = 0;
  // In the order of `from`; parts that it lacks are last.
  std::vector<Part> parts_;
  // The places in parts_ of the parts of `to`, in its order.
  std::vector<int> order_;
};

// The axes without the one at `axis`.
std::vector<ViewAxis> AxesWithout(const View& view, int axis);

// The extents into which `part` splits an axis: outside of it, its own, and inside of it. nullopt
// if it is no part of the axis.
std::optional<std::array<SymInt, 3>> SplitAround(const ViewAxis& axis, const ViewAxis& part);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_AXIS_MAP_H_
