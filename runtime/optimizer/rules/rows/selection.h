// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_SELECTION_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_SELECTION_H_

#include <optional>
#include <vector>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Which positions of an axis are selected, as far as attention by position has to know.
enum class SelectedPlace { kFirst, kLast, kElsewhere };

// A node that selects few positions of one axis of its first input: a Gather, a Slice, or a
// GatherND of one row per sample.
class Selection {
 public:
  // nullopt if the node is none, or if the positions may be more than a few.
  static std::optional<Selection> Of(Node* node, Facts& facts);

  Node* node() const { return node_; }
  Value* source() const { return node_->input(0); }
  // Not negative.
  int axis() const { return axis_; }
  SelectedPlace place() const { return place_; }
  // True if the node's result lacks the axis.
  bool drops_axis() const { return drops_axis_; }

  // True if `other` selects no other positions of the same axis of the same value, wherever this
  // one does not fail: a Gather is not content with fewer than were asked for, a Slice is.
  bool Covers(const Selection& other) const;

  // True if the same positions can be selected along `axis` of a tensor of these extents.
  bool Fits(const std::vector<SymInt>& dims, int axis) const;

  // The same positions along `axis` of a value, the axis kept. Precondition: Fits.
  Value* Select(Patch& patch, Value* value, int axis) const;

 private:
  explicit Selection(Node* node) : node_(node) {}
  bool ReadGather(Facts& facts);
  bool ReadSlice(Facts& facts);
  bool ReadGatherNd(Facts& facts);
  // From start to end, both counted from the same side.
  bool TakeSlice(int64_t start, int64_t end, Facts& facts);
  // True if `count` positions are few of the axis.
  bool AreFew(int64_t count, Facts& facts) const;

  Node* node_;
  int axis_ = 0;
  SelectedPlace place_ = SelectedPlace::kElsewhere;
  bool drops_axis_ = false;
  // Those that are the same in every run, counted from the end if negative; empty if not known.
  std::vector<int64_t> positions_;
  // Of GatherND: the extent of axis 0, each of which has a row of its own.
  std::optional<SymInt> samples_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_SELECTION_H_
