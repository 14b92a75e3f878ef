// SPDX-License-Identifier: Apache-2.0
// Inference of Concat and Split.
#include <optional>
#include <utility>
#include <vector>

#include "ops/interface/infer_rules.h"
#include "ops/movement/concat.h"
#include "ops/movement/split.h"

namespace attnrun::ops {
namespace {

// The contents of all inputs, one after the other. An input with a known length but unknown
// contents gives unknown elements.
std::optional<std::vector<SymInt>> JoinedContents(const InferContext& context) {
  std::vector<SymInt> joined;
  bool any = false;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const std::optional<size_t> length = KnownLength(context, i);
    if (!length.has_value()) return std::nullopt;
    any = any || context.input(i).contents.has_value();
    const std::vector<SymInt> next = context.input(i).contents.value_or(UnknownDims(*length));
    joined.insert(joined.end(), next.begin(), next.end());
  }
  if (!any || joined.size() > kMaxContents) return std::nullopt;
  return joined;
}

// The extent of an axis that was cut at one place, if the two are its parts.
std::optional<SymInt> WholeOf(const SymInt& first, const SymInt& rest) {
  const auto cut = first.OperandsOf("min");
  const bool fits = cut.has_value() && rest == SymInt::Opaque("drop", cut->first, cut->second);
  return fits ? std::optional(cut->first) : std::nullopt;
}

// The sum of the extents; where two are the parts of an axis, in any order, that of the axis:
// torch.roll joins them so.
SymInt SumOf(const std::vector<SymInt>& extents) {
  if (extents.size() == 2) {
    if (const auto whole = WholeOf(extents[0], extents[1])) return *whole;
    if (const auto whole = WholeOf(extents[1], extents[0])) return *whole;
  }
  SymInt sum;
  for (const SymInt& extent : extents) sum = sum + extent;
  return sum;
}

}  // namespace

void Concat::Infer(InferContext& context) const {
  ValueFacts facts = context.input(0);
  facts.contents.reset();
  std::vector<SymInt> lengths;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) return;
    const ValueFacts& next = context.input(i);
    if (facts.type == DataType::kUndefined) facts.type = next.type;
    // The axes that all inputs share may be known from any input.
    if (!facts.dims.has_value()) facts.dims = next.dims;
    if (!next.dims.has_value()) {
      lengths.push_back(SymInt::Unknown());
      continue;
    }
    const std::optional<size_t> axis = KnownAxis(axis_, next.dims->size());
    if (!axis.has_value() || facts.dims->size() != next.dims->size()) return;
    for (size_t k = 0; k < next.dims->size(); ++k) {
      if (k != *axis) context.RequireEqual((*facts.dims)[k], (*next.dims)[k]);
      (*facts.dims)[k] = Same((*facts.dims)[k], (*next.dims)[k]);
    }
    lengths.push_back((*next.dims)[*axis]);
  }
  if (facts.dims.has_value()) {
    (*facts.dims)[*KnownAxis(axis_, facts.dims->size())] = SumOf(lengths);
    if (facts.dims->size() == 1) facts.contents = JoinedContents(context);
  }
  context.SetOutput(0, std::move(facts));
}

std::vector<SymInt> Split::InferExtents(const InferContext& context, const SymInt& extent) const {
  const int64_t pieces = context.num_outputs();
  if (attribute_.has_value()) return {attribute_->begin(), attribute_->end()};
  if (from_input_ && context.has_input(1)) {
    return context.input(1).contents.value_or(UnknownDims(pieces));
  }
  if (const std::optional<int64_t> whole = extent.constant(); whole.has_value()) {
    const int64_t piece = *whole / pieces + (*whole % pieces != 0 ? 1 : 0);
    std::vector<SymInt> extents(pieces, piece);
    extents.back() = *whole - piece * (pieces - 1);
    return extents;
  }
  const std::optional<SymInt> equal = SymInt::DivideExactly(extent, pieces);
  if (equal.has_value()) return std::vector<SymInt>(pieces, *equal);
  // The division has no remainder unless the last piece may be smaller.
  return uneven_ ? UnknownDims(pieces)
                 : std::vector<SymInt>(pieces, SymInt::Quotient(extent, pieces));
}

void Split::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  for (int i = 0; i < context.num_outputs(); ++i) SetDims(context, i, std::nullopt);
  // A node that fails when it runs must not be taken for a view.
  const bool fails =
      num_outputs_.has_value() && (context.has_input(1) || *num_outputs_ != context.num_outputs());
  if (fails || !data.dims.has_value()) return;
  const std::optional<size_t> axis = KnownAxis(axis_, data.dims->size());
  if (!axis.has_value()) return;
  const std::vector<SymInt> extents = InferExtents(context, (*data.dims)[*axis]);
  if (static_cast<int>(extents.size()) != context.num_outputs()) return;
  if (attribute_.has_value() || context.has_input(1)) {
    context.RequireEqual((*data.dims)[*axis], SumOf(extents));
  }
  // The elements that are left for the pieces; none if they are unknown.
  std::optional<std::vector<SymInt>> left;
  if (data.dims->size() == 1) left = data.contents;
  for (int i = 0; i < context.num_outputs(); ++i) {
    Dims dims = *data.dims;
    dims[*axis] = extents[i];
    ValueFacts piece{data.type, std::move(dims), std::nullopt};
    const int64_t count = extents[i].constant().value_or(-1);
    if (left.has_value() && (count < 0 || count > std::ssize(*left))) left.reset();
    if (left.has_value()) {
      piece.contents.emplace(left->begin(), left->begin() + count);
      left->erase(left->begin(), left->begin() + count);
    }
    context.SetOutput(i, std::move(piece));
  }
}

}  // namespace attnrun::ops
