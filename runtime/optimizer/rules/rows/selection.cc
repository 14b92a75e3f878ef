// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rows/selection.h"

#include <limits>
#include <numeric>
#include <utility>

#include "attnrun/shape.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// A node that selects more positions takes a part of the sequence, not a row or two.
constexpr int64_t kMostPositions = 8;
// Exporters write numbers from this one on as the end of a Slice that reaches the end of its axis.
constexpr int64_t kNoEnd = std::numeric_limits<int32_t>::max();

// True for the negative of an input of the graph. A caller who says how many of the last positions
// to keep asks for few.
bool IsMinusInput(const Value* value) {
  const Node* negative = value->producer();
  return IsOp(negative, "Neg") && negative->input(0)->is_input();
}

}  // namespace

std::optional<Selection> Selection::Of(Node* node, Facts& facts) {
  if (node->input(0) == nullptr || facts.DimsOf(node->input(0)) == nullptr) return std::nullopt;
  using Reader = bool (Selection::*)(Facts&);
  static constexpr std::pair<absl::string_view, Reader> kReaders[] = {
      {"Gather", &Selection::ReadGather},
      {"Slice", &Selection::ReadSlice},
      {"GatherND", &Selection::ReadGatherNd}};
  Selection selection(node);
  const auto* reader = EntryOf(kReaders, node);
  const bool reads = reader != nullptr && (selection.*reader->second)(facts);
  return reads ? std::optional(selection) : std::nullopt;
}

bool Selection::AreFew(int64_t count, Facts& facts) const {
  const auto extent = facts.Extent(source(), axis_);
  if (count < 1 || count > kMostPositions) return false;
  return !extent.has_value() || 2 * count <= *extent;
}

bool Selection::ReadGather(Facts& facts) {
  const auto axis = AxisOf(*node_, facts.RankOf(node_->input(0)));
  const std::vector<SymInt>* index_dims = facts.DimsOf(node_->input(1));
  if (!axis.has_value() || index_dims == nullptr || index_dims->size() > 1) return false;
  axis_ = *axis;
  drops_axis_ = index_dims->empty();
  const auto count = drops_axis_ ? 1 : (*index_dims)[0].constant();
  if (!count.has_value() || !AreFew(*count, facts)) return false;
  positions_ = KnownInts(node_->input(1), facts).value_or(std::vector<int64_t>());
  const auto index = KnownInt(node_->input(1), facts);
  const auto extent = facts.Extent(source(), axis_);
  if (index == 0) place_ = SelectedPlace::kFirst;
  if (index == -1 || (index.has_value() && extent.has_value() && *index == *extent - 1)) {
    place_ = SelectedPlace::kLast;
  }
  return true;
}

bool Selection::ReadSlice(Facts& facts) {
  is_slice_ = true;
  const auto start = KnownInt(node_->input(1), facts);
  const auto end = KnownInt(node_->input(2), facts);
  const auto along = KnownInt(node_->input(3), facts);
  if (!end.has_value() || !along.has_value()) return false;
  if (node_->input(4) != nullptr && KnownInt(node_->input(4), facts) != 1) return false;
  const auto axis = NormalizeAxis(*along, facts.RankOf(node_->input(0)));
  if (!axis.ok()) return false;
  axis_ = *axis;
  const bool to_the_end = *end >= kNoEnd;
  if (!start.has_value()) {
    place_ = SelectedPlace::kLast;
    return to_the_end && IsMinusInput(node_->input(1));
  }
  if (*start < 0) {
    // Such a start means all of the axis; the negative of the number may not exist.
    if (*start < -kNoEnd) return false;
    // A Slice whose end is not behind its start selects nothing.
    if (!to_the_end && (*end >= 0 || *end <= *start)) return false;
    place_ = to_the_end ? SelectedPlace::kLast : SelectedPlace::kElsewhere;
    return TakeSlice(*start, to_the_end ? 0 : *end, facts);
  }
  if (*end <= *start) return false;
  const auto extent = facts.Extent(source(), axis_);
  const bool last = extent.has_value() && *end >= *extent;
  if (last) place_ = SelectedPlace::kLast;
  if (*start == 0) place_ = SelectedPlace::kFirst;
  return TakeSlice(*start, last ? *extent : *end, facts);
}

bool Selection::TakeSlice(int64_t start, int64_t end, Facts& facts) {
  if (!AreFew(end - start, facts)) return false;
  positions_.resize(end - start);
  std::iota(positions_.begin(), positions_.end(), start);
  return true;
}

bool Selection::ReadGatherNd(Facts& facts) {
  const std::vector<SymInt>& dims = *facts.DimsOf(node_->input(0));
  const std::vector<SymInt>* index_dims = facts.DimsOf(node_->input(1));
  if (AttributeOr<int64_t>(*node_, "batch_dims", 0) != 1 || dims.size() < 3) return false;
  if (index_dims == nullptr || index_dims->size() != 2) return false;
  if (!(*index_dims)[1].is_constant(1)) return false;
  axis_ = 1;
  drops_axis_ = true;
  by_sample_ = true;
  return AreFew(1, facts);
}

bool Selection::Covers(const Selection& other) const {
  return !is_slice_ && !positions_.empty() && source() == other.source() && axis_ == other.axis_ &&
         positions_ == other.positions_;
}

bool Selection::Fits(const OperandAxis& operand) const {
  return !by_sample_ || (operand.axis == 1 && operand.by_sample);
}

Value* Selection::Select(Patch& patch, Value* value, int axis) const {
  std::vector<Value*> inputs = node_->inputs();
  inputs[0] = value;
  AttributeMap attributes = node_->attributes();
  if (is_slice_) {
    inputs[3] = patch.Ints({axis});
  } else if (drops_axis_) {
    // An index of rank 1 keeps the axis.
    const auto position = ScalarOf(inputs[1]);
    inputs[1] = position.has_value() && !by_sample_
                    ? patch.Ints({static_cast<int64_t>(*position)})
                    : patch.Op("Unsqueeze", {inputs[1], patch.Ints({by_sample_ ? 1 : 0})});
  }
  if (!is_slice_ && !by_sample_) attributes["axis"] = static_cast<int64_t>(axis);
  return patch.Op(node_->op_type(), inputs, attributes, node_->name());
}

}  // namespace attnrun::opt
