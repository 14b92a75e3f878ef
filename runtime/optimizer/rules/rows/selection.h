// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_SELECTION_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_SELECTION_H_

#include <optional>
#include <vector>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The place of the selected positions on their axis, which decides how attention masks by position.
enum class SelectedPlace { kFirst, kLast, kElsewhere };

// An input of a node that has a position for each position of the output, along its own axis
// `axis`.
struct OperandAxis {
  size_t input = 0;
  int axis = 0;
  // True if axis 0 of the input goes with axis 0 of the output, too.
  bool by_sample = false;
};

// A node that selects a few positions of one axis of its first input: a Gather, a Slice, or a
// GatherND of one row for each sample. The rule needed_rows moves such selections up the graph;
// Select repeats the selection on another value that has the same positions.
class Selection {
 public:
  // Describes a node; nullopt if it is no selection or may select more than a few positions.
  static std::optional<Selection> Of(Node* node, Facts& facts);

  Node* node() const { return node_; }
  Value* source() const { return node_->input(0); }
  // The axis of the source, not negative.
  int axis() const { return axis_; }
  SelectedPlace place() const { return place_; }
  // True if the node's result lacks the axis.
  bool drops_axis() const { return drops_axis_; }

  // True if `other` selects the same positions of the same axis of the same value. Only a Gather
  // covers others: it fails in a run whose axis lacks a position, where a Slice gives fewer.
  bool Covers(const Selection& other) const;

  // True if the same positions can be selected of this operand.
  bool Fits(const OperandAxis& operand) const;

  // The same positions along `axis` of a value, which keeps the axis. Precondition: Fits.
  Value* Select(Patch& patch, Value* value, int axis) const;

 private:
  explicit Selection(Node* node) : node_(node) {}
  bool ReadGather(Facts& facts);
  bool ReadSlice(Facts& facts);
  bool ReadGatherNd(Facts& facts);
  // Takes the positions from start to end; both count from the same end of the axis.
  bool TakeSlice(int64_t start, int64_t end, Facts& facts);
  // True if `count` positions are few, and no more than half of the axis where its extent is known.
  bool AreFew(int64_t count, Facts& facts) const;

  Node* node_;
  int axis_ = 0;
  SelectedPlace place_ = SelectedPlace::kElsewhere;
  bool drops_axis_ = false;
  bool is_slice_ = false;
  // The positions if they are the same in every run, counted from the end if negative; else empty.
  std::vector<int64_t> positions_;
  // Set for GatherND: each sample, along axis 0, has a row of its own.
  bool by_sample_ = false;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_SELECTION_H_
