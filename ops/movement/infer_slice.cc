// What Slice tells of its output.
#include <algorithm>
#include <limits>
#include <utility>

#include "ops/infer_rules.h"
#include "ops/movement/slice.h"

namespace attnrun {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

bool IsAtMost(const InferContext& context, const SymInt& a, const SymInt& b) {
  return context.IsNeverNegative(b - a);
}

// A start or end counted from the front and clamped to the axis; nullopt where its side of 0 or of
// the extent is not plain to see.
std::optional<SymInt> Clamped(const InferContext& context, const SymInt& bound,
                              const SymInt& extent) {
  if (bound.is_constant(kEnd) || IsAtMost(context, extent, bound)) return extent;
  SymInt from_front = bound;
  if (const std::optional<int64_t> number = bound.constant(); number.has_value() && *number < 0) {
    from_front = extent + bound;
  }
  if (context.IsNeverNegative(from_front) && IsAtMost(context, from_front, extent)) {
    return from_front;
  }
  return std::nullopt;
}

// How many elements of an axis a slice has.
SymInt SlicedExtent(const InferContext& context, const SymInt& extent, const SymInt& start,
                    const SymInt& end, const SymInt& step) {
  const bool known_range = start.constant().has_value() && end.constant().has_value() &&
                           step.constant().has_value() && !step.is_constant(0);
  if (known_range && extent.constant().has_value()) {
    return SliceRange(*extent.constant(), *start.constant(), *end.constant(), *step.constant())
        .count;
  }
  // The whole axis from its end on.
  const bool from_back = start.is_constant(-1) || start.is_constant(kEnd);
  if (step.is_constant(-1) && from_back && end.constant().value_or(0) <= -kEnd) return extent;
  if (step.is_constant(1)) {
    const std::optional<SymInt> first = Clamped(context, start, extent);
    const std::optional<SymInt> last = Clamped(context, end, extent);
    if (first.has_value() && last.has_value()) {
      if (IsAtMost(context, *first, *last)) return *last - *first;
      if (IsAtMost(context, *last, *first)) return 0;
    }
  }
  // A table cut to a length, or short of its end: BroadcastDims knows what these mean beside a
  // tensor of that length.
  if (step.is_constant(1) && start.is_constant(0) && end.IsNeverNegative()) {
    return SymInt::Opaque("min", extent, end);
  }
  if (step.is_constant(1) && start.is_constant(0) && end.constant().value_or(0) < 0) {
    return SymInt::Opaque("drop", extent, SymInt(0) - end);
  }
  const SymInt range = SymInt::Opaque("range", start, end);
  return SymInt::Opaque("slice", extent, SymInt::Opaque("step", range, step));
}

using Contents = std::optional<std::vector<SymInt>>;

// Input i; `otherwise` if it is left out.
Contents ContentsOr(const InferContext& context, int i, Contents otherwise) {
  return context.has_input(i) ? context.input(i).contents : otherwise;
}

std::vector<SymInt> AsContents(const Shape& values) { return {values.begin(), values.end()}; }

// The elements of a list that a slice along its only axis has, if the slice is known.
Contents SlicedContents(const Contents& list, const Contents& start, const Contents& end,
                        const Contents& step) {
  if (!list.has_value() || start->size() != 1) return std::nullopt;
  const std::optional<int64_t> first = start->front().constant();
  const std::optional<int64_t> last = end->front().constant();
  const std::optional<int64_t> by = step->front().constant();
  if (!first.has_value() || !last.has_value() || !by.has_value() || *by == 0) return std::nullopt;
  const AxisRange range = SliceRange(static_cast<int64_t>(list->size()), *first, *last, *by);
  std::vector<SymInt> kept;
  for (int64_t i = 0; i < range.count; ++i) kept.push_back((*list)[range.start + i * range.step]);
  return kept;
}

}  // namespace

void Slice::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  SetDims(context, 0, std::nullopt);
  if (!data.dims.has_value()) return;
  const size_t rank = data.dims->size();
  SetDims(context, 0, UnknownDims(rank));
  Contents starts = AsContents(attributes_.starts);
  Contents ends = AsContents(attributes_.ends);
  Contents axes = AsContents(attributes_.axes);
  Contents steps = AsContents(attributes_.steps);
  if (from_inputs_) {
    // Bounds that are not known leave the other axes alone, if only their number is.
    const std::optional<size_t> count = KnownLength(context, 1);
    if (!count.has_value()) return;
    starts = context.input(1).contents.value_or(UnknownDims(*count));
    ends = context.input(2).contents.value_or(UnknownDims(*count));
    std::vector<SymInt> first_axes;
    for (size_t i = 0; i < *count; ++i) first_axes.emplace_back(static_cast<int64_t>(i));
    axes = ContentsOr(context, 3, std::move(first_axes));
    steps = ContentsOr(context, 4, std::vector<SymInt>(*count, 1));
    if (!axes.has_value() || !steps.has_value()) return;
  }
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    return;
  }
  Dims dims = *data.dims;
  for (size_t i = 0; i < starts->size(); ++i) {
    const std::optional<int64_t> named = (*axes)[i].constant();
    const std::optional<size_t> axis =
        named.has_value() ? KnownAxis(*named, rank) : std::optional<size_t>();
    if (!axis.has_value()) return;
    dims[*axis] = SlicedExtent(context, dims[*axis], (*starts)[i], (*ends)[i], (*steps)[i]);
  }
  Contents contents = SlicedContents(rank == 1 ? data.contents : std::nullopt, starts, ends, steps);
  if (starts->empty()) contents = data.contents;
  context.SetOutput(0, {data.type, std::move(dims), std::move(contents)});
}

}  // namespace attnrun
