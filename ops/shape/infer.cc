// SPDX-License-Identifier: Apache-2.0
// Inference of operators on shapes.
#include <algorithm>
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/shape/dims.h"
#include "ops/shape/reshape.h"
#include "ops/shape/squeeze.h"

namespace attnrun::ops {
namespace {

// Output 0 is input 0 with other extents: a view, whose contents stay.
void SetView(InferContext& context, std::optional<Dims> dims) {
  const ValueFacts& data = context.input(0);
  ValueFacts facts{data.type, std::move(dims), std::nullopt};
  if (facts.dims.has_value() && facts.dims->size() <= 1) facts.contents = data.contents;
  context.SetOutput(0, std::move(facts));
}

// The extent that -1 stands for: the data's extents divided by the given ones. Equal ones cancel.
SymInt Remaining(Dims available, const Dims& given) {
  Dims divisors;
  for (const SymInt& extent : given) {
    const auto same = std::find(available.begin(), available.end(), extent);
    if (same == available.end()) {
      divisors.push_back(extent);
    } else {
      available.erase(same);
    }
  }
  return SymInt::Quotient(Product(available), Product(divisors));
}

// True if the entry of a target means itself: no 0 that copies extent i of the data, unless the
// copy is the same.
bool MeansItself(const InferContext& context, const SymInt& entry, size_t i, bool allow_zero) {
  const Dims& data = *context.input(0).dims;
  return allow_zero || context.IsNeverNegative(entry - 1) || (i < data.size() && data[i] == entry);
}

// A symbolic entry is taken as the extent itself. (If it is 0 without `allow_zero`, ONNX copies an
// axis instead, which differs only for data without elements whose result has none, either.)
std::optional<Dims> InferReshaped(InferContext& context, const Dims& wanted, bool allow_zero) {
  const std::optional<Dims>& data = context.input(0).dims;
  const auto inferred = std::find(wanted.begin(), wanted.end(), SymInt(-1));
  Dims dims;
  Dims given;
  Dims available = data.value_or(Dims());
  bool counts = data.has_value();
  SymInt copied(1);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_constant(0) && !allow_zero) {
      if (data.has_value() && i >= data->size()) return std::nullopt;
      dims.push_back(data.has_value() ? (*data)[i] : SymInt::Unknown());
      if (data.has_value()) available[i] = 1;
      copied = copied * dims.back();
    } else if (wanted[i].is_constant(-1) ||
               (!context.IsNeverNegative(wanted[i]) && inferred == wanted.end())) {
      counts = counts && wanted[i].is_constant(-1);
      dims.push_back(SymInt::Unknown());
    } else {
      // If one entry is known to be -1, no other is negative.
      if (counts && !MeansItself(context, wanted[i], i, allow_zero)) copied = copied * wanted[i];
      dims.push_back(wanted[i]);
      given.push_back(wanted[i]);
    }
  }
  if (inferred != wanted.end() && data.has_value()) {
    dims[inferred - wanted.begin()] = Remaining(available, given);
    given.push_back(dims[inferred - wanted.begin()]);
  }
  // Axes that are copied, or would be if their entry were 0, count as well: where one has no
  // positions, the others may have any extents.
  if (counts) context.RequireEqual(copied * Product(available), copied * Product(given));
  return dims;
}

}  // namespace

void ShapeOp::Infer(InferContext& context) const {
  const std::optional<Dims>& dims = context.input(0).dims;
  if (!dims.has_value()) {
    context.SetOutput(0, {DataType::kInt64, UnknownDims(1), std::nullopt});
    return;
  }
  const auto rank = static_cast<int64_t>(dims->size());
  const auto clamp = [rank](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? bound + rank : bound, 0, rank);
  };
  const int64_t start = clamp(start_);
  const int64_t end = std::max(clamp(end_), start);
  context.SetOutput(0, VectorOf(DataType::kInt64, {dims->begin() + start, dims->begin() + end}));
}

void SizeOp::Infer(InferContext& context) const {
  ValueFacts facts{DataType::kInt64, Dims(), std::nullopt};
  const std::optional<Dims>& dims = context.input(0).dims;
  if (dims.has_value()) facts.contents = std::vector<SymInt>{Product(*dims)};
  context.SetOutput(0, std::move(facts));
}

void Reshape::Infer(InferContext& context) const {
  const ValueFacts& shape = context.input(1);
  if (shape.contents.has_value()) {
    SetView(context, InferReshaped(context, *shape.contents, allow_zero_));
  } else if (const std::optional<size_t> rank = KnownLength(context, 1); rank.has_value()) {
    SetView(context, UnknownDims(*rank));
  } else {
    SetView(context, std::nullopt);
  }
}

void Flatten::Infer(InferContext& context) const {
  const std::optional<Dims>& dims = context.input(0).dims;
  Dims matrix = UnknownDims(2);
  if (dims.has_value()) {
    const auto rank = static_cast<int64_t>(dims->size());
    const int64_t axis = std::clamp<int64_t>(axis_ < 0 ? axis_ + rank : axis_, 0, rank);
    const auto split = dims->begin() + axis;
    matrix = {Product({dims->begin(), split}), Product({split, dims->end()})};
  }
  SetView(context, std::move(matrix));
}

std::optional<std::vector<int64_t>> AxesArgument::Known(const KnownInputs& inputs) const {
  if (from_input_) return KnownInts(inputs, 1);
  return std::vector<int64_t>(attribute_.begin(), attribute_.end());
}

std::optional<std::vector<bool>> Squeeze::Dropped(const KnownInputs& inputs) const {
  const std::optional<Dims>& dims = inputs.input(0).dims;
  if (!dims.has_value()) return std::nullopt;
  std::vector<bool> dropped(dims->size(), false);
  if (!axes_.IsGiven(inputs)) {
    for (size_t axis = 0; axis < dims->size(); ++axis) {
      // Only a known extent decides whether the axis is dropped.
      if (!(*dims)[axis].constant().has_value()) return std::nullopt;
      dropped[axis] = (*dims)[axis].is_constant(1);
    }
    return dropped;
  }
  const std::optional<std::vector<int64_t>> axes = axes_.Known(inputs);
  if (!axes.has_value()) return std::nullopt;
  for (const int64_t named : *axes) {
    const std::optional<size_t> axis = KnownAxis(named, dims->size());
    if (!axis.has_value()) return std::nullopt;
    dropped[*axis] = true;
  }
  return dropped;
}

void Squeeze::Infer(InferContext& context) const {
  const std::optional<std::vector<bool>> dropped = Dropped(context);
  if (!dropped.has_value()) return SetView(context, std::nullopt);
  Dims kept;
  for (size_t axis = 0; axis < dropped->size(); ++axis) {
    const SymInt& extent = (*context.input(0).dims)[axis];
    if ((*dropped)[axis]) {
      context.RequireEqual(extent, 1);
    } else {
      kept.push_back(extent);
    }
  }
  SetView(context, std::move(kept));
}

std::optional<std::vector<bool>> Unsqueeze::Added(const KnownInputs& inputs) const {
  const std::optional<size_t> rank_before = RankOf(inputs, 0);
  const std::optional<std::vector<int64_t>> axes = axes_.Known(inputs);
  if (!rank_before.has_value() || !axes.has_value()) return std::nullopt;
  const size_t rank = *rank_before + axes->size();
  std::vector<bool> added(rank, false);
  for (const int64_t named : *axes) {
    const std::optional<size_t> axis = KnownAxis(named, rank);
    // A repeated axis is an error.
    if (!axis.has_value() || added[*axis]) return std::nullopt;
    added[*axis] = true;
  }
  return added;
}

void Unsqueeze::Infer(InferContext& context) const {
  SetView(context, std::nullopt);
  const std::optional<size_t> rank = RankOf(context, 0);
  if (!rank.has_value()) return;
  if (!axes_.Known(context).has_value()) {
    const std::optional<size_t> count = KnownLength(context, 1);
    if (count.has_value()) SetView(context, UnknownDims(*rank + *count));
    return;
  }
  const std::optional<std::vector<bool>> added = Added(context);
  if (!added.has_value()) return;
  Dims result(added->size(), 1);
  size_t next = 0;
  for (size_t axis = 0; axis < added->size(); ++axis) {
    if (!(*added)[axis]) result[axis] = (*context.input(0).dims)[next++];
  }
  SetView(context, std::move(result));
}

}  // namespace attnrun::ops
