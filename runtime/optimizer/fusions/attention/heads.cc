#include "optimizer/fusions/attention/heads.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "optimizer/node_queries.h"
#include "optimizer/reshape.h"

namespace attnrun {
namespace {

constexpr absl::string_view kRoles = "bsnh";

// Known to hold no elements: nothing can be told from strides then.
bool IsEmpty(absl::Span<const SymInt> dims) {
  return absl::c_any_of(dims, [](const SymInt& extent) { return extent.is_constant(0); });
}

// Whether steps of `a` elements are smaller than steps of `b`.
bool IsFiner(const ViewAxis& a, const ViewAxis& b) {
  if (a.empty() || b.empty()) return false;
  const auto ratio = SymInt::DivideExactly(b.back().stride, a.back().stride);
  return ratio.has_value() && !ratio->is_constant(1) && !ratio->is_constant(0);
}

// One factor of the heads' view on an axis of the base: every `step` positions.
struct Placed {
  char role;
  SymInt size;
  int64_t step;
};

// Finds the axis of a dense base that a factor counts along, from the outermost on.
class Placement {
 public:
  explicit Placement(absl::Span<const SymInt> dims)
      : dims_(dims.begin(), dims.end()), strides_(dims.size()), placed_(dims.size()) {
    SymInt stride(1);
    for (size_t i = dims.size(); i-- > 0;) {
      strides_[i] = stride;
      stride = stride * dims[i];
    }
  }

  bool Place(char role, const ViewFactor& factor) {
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      const auto quotient = SymInt::DivideExactly(factor.stride, strides_[axis]);
      if (!quotient.has_value()) continue;
      const auto step = quotient->constant();
      if (!step.has_value() || *step < 1 || !Fits(factor.size, *step, dims_[axis])) continue;
      placed_[axis].push_back({role, factor.size, *step});
      return true;
    }
    return false;
  }

  std::optional<HeadLayout> Layout(SymInt offset) const {
    HeadLayout layout;
    for (size_t i = 0; i < dims_.size(); ++i) {
      int64_t start = 0;
      if (const auto whole = SymInt::DivideExactly(offset, strides_[i]);
          whole.has_value() && whole->constant().has_value()) {
        start = *whole->constant();
        offset = SymInt(0);
      } else if (offset.constant().has_value() && strides_[i].constant().has_value()) {
        start = *offset.constant() / *strides_[i].constant();
        offset = offset - SymInt(start) * strides_[i];
      }
      auto axis = MakeAxis(placed_[i], start, dims_[i]);
      if (!axis.has_value()) return std::nullopt;
      layout.axes.push_back(*std::move(axis));
    }
    if (!offset.is_constant(0) || !layout.Check().ok()) return std::nullopt;
    return layout;
  }

 private:
  static bool Fits(const SymInt& size, int64_t step, const SymInt& extent) {
    if (size * SymInt(step) == extent) return true;
    // Heads of a folded axis, 4 of 4*batch.
    if (size.constant().has_value() && SymInt::DivideExactly(extent, size * SymInt(step))) {
      return *size.constant() > 0;
    }
    return size.constant().has_value() && extent.constant().has_value() &&
           *size.constant() * step <= *extent.constant();
  }

  static std::optional<HeadLayout::Axis> MakeAxis(std::vector<Placed> placed, int64_t start,
                                                  const SymInt& extent) {
    HeadLayout::Axis axis;
    axis.offset = start;
    absl::c_sort(placed, [](const Placed& a, const Placed& b) { return a.step < b.step; });
    int64_t covered = 1;
    bool has_rest = false;
    for (const Placed& factor : placed) {
      if (has_rest || factor.step % covered != 0) return std::nullopt;
      if (factor.step != covered) axis.factors.push_back({'_', factor.step / covered});
      const auto size = factor.size.constant();
      has_rest = !size.has_value();
      axis.factors.push_back({factor.role, has_rest ? HeadLayout::kRest : *size});
      covered = factor.step * size.value_or(1);
    }
    absl::c_reverse(axis.factors);
    const bool whole = axis.factors.size() == 1 && start == 0 && extent.is_constant(covered);
    if (whole) axis.factors[0].size = HeadLayout::kRest;
    return axis;
  }

  const std::vector<SymInt> dims_;
  std::vector<SymInt> strides_;
  std::vector<std::vector<Placed>> placed_;
};

// Reads one axis of a base as the layout says: the axis gives way to one axis per role.
std::optional<View> SplitAxis(const View& view, int axis, const HeadLayout::Axis& entry,
                              std::string& roles) {
  if (entry.factors.empty()) {
    const auto slice = view.Sliced(axis, entry.offset, 1);
    return slice.has_value() ? slice->Squeezed(axis) : std::nullopt;
  }
  const SymInt extent = view.Extent(axis);
  SymInt known(1);
  for (const auto& factor : entry.factors) {
    if (factor.size != HeadLayout::kRest) known = known * SymInt(factor.size);
  }
  std::vector<SymInt> sizes;
  SymInt total(1);
  for (const auto& factor : entry.factors) {
    SymInt size(factor.size);
    if (factor.size == HeadLayout::kRest) {
      const auto rest = SymInt::DivideExactly(extent, known);
      if (!rest.has_value()) return std::nullopt;
      size = *rest;
    }
    sizes.push_back(size);
    total = total * size;
  }
  // A gap's index is a part of the offset.
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t start = entry.offset;
  int64_t inner = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (entry.factors[i].role == '_') {
      index[i] = entry.offset / inner % entry.factors[i].size;
      start -= index[i] * inner;
    }
    inner *= sizes[i].constant().value_or(1);
  }
  auto result = view.Sliced(axis, start, total);
  if (!result.has_value()) return std::nullopt;
  std::vector<SymInt> dims = result->Dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, sizes.begin(), sizes.end());
  result = result->Reshaped(dims);
  for (size_t i = sizes.size(); i-- > 0 && result.has_value();) {
    if (entry.factors[i].role != '_') continue;
    const int at = axis + static_cast<int>(i);
    result = result->Sliced(at, index[i], 1);
    if (result.has_value()) result = result->Squeezed(at);
  }
  for (const auto& factor : entry.factors) {
    if (factor.role != '_') roles.push_back(factor.role);
  }
  return result;
}

// The operand's axes as [batch, heads, rows, channels].
std::optional<View> Grouped(View view, bool transposed, const HeadAxes& axes) {
  const int rank = view.rank();
  if (rank < 2) return std::nullopt;
  if (transposed) view = view.Transposed(SwapOfLastTwo(rank));
  const SymInt rows = view.Extent(rank - 2);
  const SymInt channels = view.Extent(rank - 1);
  std::vector<SymInt> full = axes.leading;
  // An axis of its own stays, though its extent may be written in other symbols: the run checks it.
  for (size_t i = 0; i < full.size() && static_cast<int>(full.size()) + 2 == rank; ++i) {
    const SymInt extent = view.Extent(static_cast<int>(i));
    const bool named = !extent.constant().has_value() && !full[i].constant().has_value();
    if (named) full[i] = extent;
  }
  full.push_back(rows);
  full.push_back(channels);
  auto result = view.Expanded(full);
  if (!result.has_value()) return std::nullopt;
  if (axes.leading.size() != 2) return result->Reshaped({axes.batch, axes.heads, rows, channels});
  return axes.heads_first ? result->Transposed({1, 0, 2, 3}) : *result;
}

}  // namespace

HeadAxes FindHeadAxes(Value* q, bool transposed, absl::Span<const SymInt> leading, Facts& facts) {
  HeadAxes axes;
  axes.leading.assign(leading.begin(), leading.end());
  axes.batch = SymInt(1);
  axes.heads = SymInt(1);
  const int rank = facts.RankOf(q);
  const std::vector<Traced> chain = Trace(q, facts, {.factors = true});
  const View* view = nullptr;
  for (const Traced& traced : chain) {
    if (traced.view.rank() == rank) view = &traced.view;
  }
  const size_t count = leading.size();
  const int positions = rank - (transposed ? 1 : 2);
  const bool has_leading = view != nullptr && rank == static_cast<int>(count) + 2;
  if (count == 1) {
    const ViewAxis none;
    const ViewAxis& folded = has_leading ? view->axes()[0] : none;
    if (folded.size() == 2) {
      axes.batch = folded[0].size;
      axes.heads = folded[1].size;
    } else if (has_leading && IsFiner(folded, view->axes()[positions])) {
      axes.heads = leading[0];
    } else {
      axes.batch = leading[0];
    }
  } else if (count == 2) {
    axes.heads_first = has_leading && IsFiner(view->axes()[0], view->axes()[positions]) &&
                       !IsFiner(view->axes()[1], view->axes()[positions]);
    // Samples may lie nearer to each other than positions do; their number is not fixed.
    if (!leading[0].constant().has_value() && leading[1].constant().has_value()) {
      axes.heads_first = false;
    }
    axes.batch = leading[axes.heads_first ? 1 : 0];
    axes.heads = leading[axes.heads_first ? 0 : 1];
  } else if (count == 3) {
    axes.heads_split = has_leading && leading[1].constant().has_value() &&
                       IsFiner(view->axes()[1], view->axes()[positions]);
    axes.batch = axes.heads_split ? leading[0] : leading[0] * leading[1];
    axes.heads = axes.heads_split ? leading[1] * leading[2] : leading[2];
  }
  return axes;
}

std::optional<HeadLayout> LayoutOf(const View& view, absl::Span<const SymInt> base) {
  if (view.rank() != static_cast<int>(kRoles.size()) || IsEmpty(base)) return std::nullopt;
  Placement placement(base);
  for (size_t i = 0; i < kRoles.size(); ++i) {
    const ViewAxis& axis = view.axes()[i];
    if (axis.empty()) continue;
    if (axis.size() > 1) return std::nullopt;
    if (axis[0].stride.is_constant(0)) {
      // All the same along this axis: the layout leaves it out. Channels must be there.
      if (kRoles[i] == 'h') return std::nullopt;
      continue;
    }
    if (!placement.Place(kRoles[i], axis[0])) return std::nullopt;
  }
  return placement.Layout(view.offset());
}

std::optional<View> ViewOf(const HeadLayout& layout, const View& base) {
  if (base.rank() != static_cast<int>(layout.axes.size()) || IsEmpty(base.Dims())) {
    return std::nullopt;
  }
  std::optional<View> view = base;
  std::string roles;
  int axis = 0;
  for (const HeadLayout::Axis& entry : layout.axes) {
    std::string of_axis;
    view = SplitAxis(*view, axis, entry, of_axis);
    if (!view.has_value()) return std::nullopt;
    roles += of_axis;
    axis += static_cast<int>(of_axis.size());
  }
  std::vector<int64_t> order;
  for (const char role : kRoles) {
    if (const size_t at = roles.find(role); at != std::string::npos) {
      order.push_back(static_cast<int64_t>(at));
    }
  }
  View ordered = view->Transposed(order);
  for (size_t i = 0; i < kRoles.size(); ++i) {
    if (roles.find(kRoles[i]) == std::string::npos)
      ordered = ordered.Unsqueezed(static_cast<int>(i));
  }
  return ordered;
}

std::optional<HeadOperand> AsOperand(const Traced& traced, View heads, HeadRole role,
                                     SharedHeads shared, Facts& facts) {
  constexpr int kHeadAxis = 2;
  if (role != HeadRole::kQuery && shared == SharedHeads::kOnce) {
    heads = heads.WithoutRepeats(kHeadAxis);
  }
  const ViewAxis& axis = heads.axes()[kHeadAxis];
  // All heads alike may be left out; of Q each must lie somewhere.
  const bool repeats = !axis.empty() && axis.back().stride.is_constant(0);
  if (repeats && (role == HeadRole::kQuery || shared == SharedHeads::kRepeated)) {
    return std::nullopt;
  }
  auto layout = LayoutOf(heads, *facts.DimsOf(traced.base));
  if (!layout.has_value()) return std::nullopt;
  return HeadOperand{traced.base, *std::move(layout), traced.scale, heads.Extent(kHeadAxis)};
}

namespace {

// The operand itself as [batch, heads, rows, channels] or the other way round, its leading axes
// joined. They must be those of the scores.
std::optional<HeadOperand> Joined(const Traced& traced, bool transposed, const HeadAxes& axes) {
  const std::vector<SymInt> dims = traced.view.Dims();
  const size_t leading = axes.leading.size();
  if (leading != 3 || dims.size() != leading + 2 ||
      !std::equal(axes.leading.begin(), axes.leading.end(), dims.begin())) {
    return std::nullopt;
  }
  const std::vector<SymInt> joined = {axes.batch, axes.heads, dims[leading], dims[leading + 1]};
  const std::vector<int64_t> order =
      transposed ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 2, 1, 3};
  auto layout = LayoutOf(View::Dense(joined).Transposed(order), joined);
  if (!layout.has_value()) return std::nullopt;
  return HeadOperand{traced.base, *std::move(layout), traced.scale, axes.heads, joined};
}

}  // namespace

HeadOperand OfWholeRows(HeadOperand operand, Facts& facts) {
  const Node* reshape = operand.value->producer();
  if (!operand.reshaped.empty() || !IsOp(reshape, "Reshape")) return operand;
  const std::vector<SymInt>* from = facts.DimsOf(reshape->input(0));
  const std::vector<SymInt> heads = *facts.DimsOf(operand.value);
  if (from == nullptr || from->empty() || operand.layout.ToString() != "b s n h") return operand;
  const SymInt channels = heads[2] * heads[3];
  if (from->back() != channels) return operand;
  const std::vector<SymInt> rows = {heads[0], heads[1], channels};
  const auto view = View::Dense(rows).Reshaped(heads);
  auto layout = view.has_value() ? LayoutOf(*view, rows) : std::nullopt;
  if (!layout.has_value() || !ReshapeTarget(*from, rows).has_value()) return operand;
  operand.value = reshape->input(0);
  operand.layout = *std::move(layout);
  operand.reshaped = rows;
  return operand;
}

std::optional<HeadOperand> FindHeads(Value* value, HeadRole role, bool transposed,
                                     const HeadAxes& axes, Facts& facts, SharedHeads shared) {
  // A factor on V is not a factor on the scores.
  const std::vector<Traced> chain = Trace(value, facts, {.factors = role != HeadRole::kValue});
  for (size_t i = chain.size(); i-- > 0;) {
    auto view = Grouped(chain[i].view, transposed, axes);
    if (!view.has_value()) continue;
    auto operand = AsOperand(chain[i], view->Transposed({0, 2, 1, 3}), role, shared, facts);
    if (operand.has_value()) return OfWholeRows(*std::move(operand), facts);
  }
  return chain.empty() ? std::nullopt : Joined(chain[0], transposed, axes);
}

}  // namespace attnrun
