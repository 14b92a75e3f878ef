// SPDX-License-Identifier: Apache-2.0
// Inference of Slice's output.
#include <algorithm>
#include <limits>
#include <utility>

#include "ops/interface/infer_rules.h"
#include "ops/movement/slice.h"

namespace attnrun::ops {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

bool IsAtMost(const InferContext& context, const SymInt& a, const SymInt& b) {
  return context.IsNeverNegative(b - a);
}

// True for a bound behind the axis. Exporters write the end of any axis as the greatest integer of
// 32 or 64 bits, and tf2onnx as 10^9, which no axis of a model reaches.
bool IsFarBehind(const SymInt& bound, const SymInt& extent) {
  constexpr int64_t kFar = 1'000'000'000;
  return bound.is_constant(kEnd) ||
         (bound.constant().value_or(0) >= kFar && !extent.constant().has_value());
}

// A start or end counted from the front and clamped to the axis; nullopt if it cannot be compared
// with 0 or the extent.
std::optional<SymInt> Clamped(const InferContext& context, const SymInt& bound,
                              const SymInt& extent) {
  if (IsFarBehind(bound, extent) || IsAtMost(context, extent, bound)) return extent;
  // A bound of -extent or less is the front, even if the extent is 0. No extent is above kEnd.
  if (bound.constant().value_or(0) <= -kEnd) return 0;
  if (IsAtMost(context, bound, SymInt(0) - extent)) return 0;
  SymInt from_front = bound;
  if (const std::optional<int64_t> number = bound.constant(); number.has_value() && *number < 0) {
    from_front = extent + bound;
  }
  if (context.IsNeverNegative(from_front) && IsAtMost(context, from_front, extent)) {
    return from_front;
  }
  return std::nullopt;
}

// The number of elements at first, first + step, ... before last.
SymInt CountSteps(const SymInt& first, const SymInt& last, int64_t step) {
  return SymInt::FloorQuotient(last - first + (step - 1), step);
}

// The number of elements that a slice takes one after another; nullopt if it is not known.
std::optional<SymInt> AdjacentExtent(const InferContext& context, const SymInt& extent,
                                     const SymInt& start, const SymInt& end) {
  const std::optional<SymInt> first = Clamped(context, start, extent);
  const std::optional<SymInt> last = Clamped(context, end, extent);
  if (first.has_value() && last.has_value()) {
    if (IsAtMost(context, *first, *last)) return *last - *first;
    if (IsAtMost(context, *last, *first)) return 0;
  }
  // A table cut to a length ("min"), or cut short by one ("drop"): BroadcastDims understands these
  // beside a tensor of that length, and Concat puts both together again.
  if (start.is_constant(0)) {
    if (end.IsNeverNegative()) return SymInt::Opaque("min", extent, end);
    if (end.constant().value_or(0) < 0) return SymInt::Opaque("drop", extent, SymInt(0) - end);
  }
  if (last == extent) {
    if (start.IsNeverNegative()) return SymInt::Opaque("drop", extent, start);
    if (start.constant().value_or(0) < 0) return SymInt::Opaque("min", extent, SymInt(0) - start);
  }
  return std::nullopt;
}

// The same for a step above 1.
std::optional<SymInt> SteppedExtent(const InferContext& context, const SymInt& extent,
                                    const SymInt& start, const SymInt& end, int64_t step) {
  const std::optional<SymInt> last = Clamped(context, end, extent);
  if (!last.has_value()) return std::nullopt;
  // A start within the first step may lie behind the end: the quotient is 0 then, too.
  const int64_t position = start.constant().value_or(-1);
  if (position >= 0 && position < step) return CountSteps(start, *last, step);
  const std::optional<SymInt> first = Clamped(context, start, extent);
  if (!first.has_value() || !IsAtMost(context, *first, *last)) return std::nullopt;
  return CountSteps(*first, *last, step);
}

// The number of elements that a slice takes of an axis.
SymInt SlicedExtent(const InferContext& context, const SymInt& extent, const SymInt& start,
                    const SymInt& end, const SymInt& step) {
  const std::optional<int64_t> size = extent.constant();
  const std::optional<int64_t> from = start.constant();
  const std::optional<int64_t> to = end.constant();
  const std::optional<int64_t> by = step.constant();
  if (size.has_value() && from.has_value() && to.has_value() && by.has_value() && *by != 0) {
    return SliceRange(*size, *from, *to, *by).count;
  }
  // The whole axis, backwards from its end.
  const bool from_back = start.is_constant(-1) || start.is_constant(kEnd);
  if (step.is_constant(-1) && from_back && end.constant().value_or(0) <= -kEnd) return extent;
  std::optional<SymInt> known;
  if (by == 1) {
    known = AdjacentExtent(context, extent, start, end);
  } else if (const int64_t stride = by.value_or(0); stride > 1) {
    known = SteppedExtent(context, extent, start, end, stride);
  }
  if (known.has_value()) return *known;
  const SymInt range = SymInt::Opaque("range", start, end);
  return SymInt::Opaque("slice", extent, SymInt::Opaque("step", range, step));
}

using List = std::vector<SymInt>;

// One entry per sliced axis; all lists have equal length.
struct Bounds {
  List starts;
  List ends;
  List axes;
  List steps;
};

List AsList(const Shape& values) { return {values.begin(), values.end()}; }

List CountedSymbols(size_t count) {
  List numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<int64_t>(i);
  return numbers;
}

// The contents of input i, nullopt if unknown; `otherwise` if it is left out.
std::optional<List> InputOr(const InferContext& context, int i, const List& otherwise) {
  return context.has_input(i) ? context.input(i).contents : otherwise;
}

std::optional<Bounds> ReadBounds(const InferContext& context) {
  // Unknown bounds leave the other axes alone, as long as their number is known.
  const std::optional<size_t> count = KnownLength(context, 1);
  if (!count.has_value()) return std::nullopt;
  const std::optional<List> axes = InputOr(context, 3, CountedSymbols(*count));
  const std::optional<List> steps = InputOr(context, 4, List(*count, 1));
  if (!axes.has_value() || !steps.has_value()) return std::nullopt;
  return Bounds{context.input(1).contents.value_or(UnknownDims(*count)),
                context.input(2).contents.value_or(UnknownDims(*count)), *axes, *steps};
}

// The elements of a list that a slice along its only axis takes; nullopt if the slice is unknown.
std::optional<List> SlicedList(const List& list, const Bounds& bounds) {
  if (bounds.starts.empty()) return list;
  if (bounds.starts.size() != 1) return std::nullopt;
  const std::optional<int64_t> first = bounds.starts[0].constant();
  const std::optional<int64_t> last = bounds.ends[0].constant();
  const std::optional<int64_t> by = bounds.steps[0].constant();
  if (!first.has_value() || !last.has_value() || !by.has_value() || *by == 0) return std::nullopt;
  const AxisRange range = SliceRange(static_cast<int64_t>(list.size()), *first, *last, *by);
  List kept(range.count);
  for (int64_t i = 0; i < range.count; ++i) kept[i] = list[range.start + i * range.step];
  return kept;
}

}  // namespace

void Slice::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  SetDims(context, 0, std::nullopt);
  if (!data.dims.has_value()) return;
  const size_t rank = data.dims->size();
  SetDims(context, 0, UnknownDims(rank));
  std::optional<Bounds> bounds = Bounds{AsList(attributes_.starts), AsList(attributes_.ends),
                                        AsList(attributes_.axes), AsList(attributes_.steps)};
  if (from_inputs_) bounds = ReadBounds(context);
  if (!bounds.has_value()) return;
  const size_t count = bounds->starts.size();
  if (bounds->ends.size() != count || bounds->axes.size() != count ||
      bounds->steps.size() != count) {
    return;
  }
  Dims dims = *data.dims;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<int64_t> named = bounds->axes[i].constant();
    const std::optional<size_t> axis =
        named.has_value() ? KnownAxis(*named, rank) : std::optional<size_t>();
    if (!axis.has_value()) return;
    dims[*axis] =
        SlicedExtent(context, dims[*axis], bounds->starts[i], bounds->ends[i], bounds->steps[i]);
  }
  std::optional<List> contents;
  if (data.contents.has_value() && (rank == 1 || count == 0)) {
    contents = SlicedList(*data.contents, *bounds);
  }
  context.SetOutput(0, {data.type, std::move(dims), std::move(contents)});
}

}  // namespace attnrun::ops
