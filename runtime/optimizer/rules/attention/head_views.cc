// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/head_views.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// One letter for each axis of heads, in the order of their views: samples, positions, heads,
// channels.
constexpr absl::string_view kRoles = "bsnh";

// True if the tensor is known to hold no elements; strides say nothing then.
bool IsEmpty(absl::Span<const SymInt> dims) {
  return absl::c_any_of(dims, [](const SymInt& extent) { return extent.is_constant(0); });
}

// One factor of a view of heads, placed on an axis of the base: it counts every `step` positions.
struct Placed {
  char role;
  SymInt size;
  int64_t step;
};

// Finds the axis of a dense base along which each factor counts, from the outermost factor on.
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

  std::optional<ops::HeadLayout> Layout(SymInt offset) const {
    ops::HeadLayout layout;
    for (size_t i = 0; i < dims_.size(); ++i) {
      const int64_t start = WholeSteps(offset, strides_[i]);
      offset = offset - SymInt(start) * strides_[i];
      auto axis = MakeAxis(placed_[i], start, dims_[i]);
      if (!axis.has_value()) return std::nullopt;
      layout.axes.push_back(*std::move(axis));
    }
    if (!offset.is_constant(0) || !layout.Check().ok()) return std::nullopt;
    return layout;
  }

 private:
  // a / b if that is a number.
  static std::optional<int64_t> NumberOf(const SymInt& a, const SymInt& b) {
    const auto quotient = SymInt::DivideExactly(a, b);
    return quotient.has_value() ? quotient->constant() : std::nullopt;
  }

  // How often the stride goes into an offset, term by term: once into 48*s for 32*s.
  static int64_t WholeSteps(const SymInt& offset, const SymInt& stride) {
    if (const auto exactly = NumberOf(offset, stride)) return *exactly;
    int64_t whole = 0;
    for (const SymInt& term : offset.Terms()) {
      const SymInt common = SymInt::CommonFactor(term, stride);
      const auto number = NumberOf(term, common);
      const auto divisor = NumberOf(stride, common);
      if (number.has_value() && divisor.has_value()) whole += *number / *divisor;
    }
    return whole;
  }

  static bool Fits(const SymInt& size, int64_t step, const SymInt& extent) {
    if (size * SymInt(step) == extent) return true;
    // The axis may hold samples and heads folded together, such as 4 heads in 4 * batch.
    const auto number = size.constant();
    if (!number.has_value()) return false;
    if (SymInt::DivideExactly(extent, size * SymInt(step))) return *number > 0;
    const auto most = extent.constant();
    return most.has_value() && *number * step <= *most;
  }

  // True if all that the factors count from `start` on lies on the axis. A view may leave it, as do
  // the last head of a sample and the first one of the next.
  static bool EndsWithin(const std::vector<Placed>& placed, int64_t start, const SymInt& extent) {
    int64_t last = start;
    for (const Placed& factor : placed) {
      const auto size = factor.size.constant();
      // The outermost factor fills the axis with steps.
      if (!size.has_value()) return last < factor.step;
      last += (*size - 1) * factor.step;
    }
    if (const auto number = extent.constant()) return last < *number;
    return start == 0 || (extent.Terms().size() == 1 && last < extent.coefficient());
  }

  static std::optional<ops::HeadLayout::Axis> MakeAxis(std::vector<Placed> placed, int64_t start,
                                                       const SymInt& extent) {
    ops::HeadLayout::Axis axis;
    axis.offset = start;
    absl::c_sort(placed, [](const Placed& a, const Placed& b) { return a.step < b.step; });
    int64_t covered = 1;
    bool has_rest = false;
    for (const Placed& factor : placed) {
      if (has_rest || factor.step % covered != 0) return std::nullopt;
      if (factor.step != covered) axis.factors.push_back({'_', factor.step / covered});
      const auto size = factor.size.constant();
      has_rest = !size.has_value();
      axis.factors.push_back({factor.role, has_rest ? ops::HeadLayout::kRest : *size});
      covered = factor.step * size.value_or(1);
    }
    if (!EndsWithin(placed, start, extent)) return std::nullopt;
    absl::c_reverse(axis.factors);
    const bool whole = axis.factors.size() == 1 && start == 0 && extent.is_constant(covered);
    if (whole) axis.factors[0].size = ops::HeadLayout::kRest;
    return axis;
  }

  const std::vector<SymInt> dims_;
  std::vector<SymInt> strides_;
  std::vector<std::vector<Placed>> placed_;
};

// Replaces one axis of a base by one axis for each role that the layout has on it, in its order.
std::optional<View> SplitAxis(const View& view, int axis, const ops::HeadLayout::Axis& entry) {
  const bool stays = entry.offset == 0 && entry.factors.size() == 1 &&
                     entry.factors[0].size == ops::HeadLayout::kRest &&
                     entry.factors[0].role != '_';
  if (stays) return view;
  SymInt known(1);
  for (const auto& factor : entry.factors) {
    if (factor.size != ops::HeadLayout::kRest) known = known * SymInt(factor.size);
  }
  const auto rest = SymInt::DivideExactly(view.Extent(axis), known);
  std::vector<SymInt> sizes;
  std::vector<SymInt> steps;
  SymInt step(1);
  for (auto factor = entry.factors.rbegin(); factor != entry.factors.rend(); ++factor) {
    const bool is_rest = factor->size == ops::HeadLayout::kRest;
    if (is_rest && !rest.has_value()) return std::nullopt;
    const SymInt size = is_rest ? *rest : SymInt(factor->size);
    if (factor->role != '_') {
      sizes.insert(sizes.begin(), size);
      steps.insert(steps.begin(), step);
    }
    step = step * size;
  }
  return view.Gathered(axis, {View::Counting(SymInt(entry.offset), sizes, steps)});
}

}  // namespace

std::optional<ops::HeadLayout> LayoutOf(const View& view, absl::Span<const SymInt> base) {
  if (view.rank() != static_cast<int>(kRoles.size()) || IsEmpty(base)) return std::nullopt;
  Placement placement(base);
  for (size_t i = 0; i < kRoles.size(); ++i) {
    const ViewAxis& axis = view.axes()[i];
    if (axis.empty()) continue;
    if (axis.size() > 1) return std::nullopt;
    if (axis[0].stride.is_constant(0)) {
      // The operand is the same along this axis, so the layout leaves it out. Channels cannot be
      // left out.
      if (kRoles[i] == 'h') return std::nullopt;
      continue;
    }
    if (!placement.Place(kRoles[i], axis[0])) return std::nullopt;
  }
  return placement.Layout(view.offset());
}

std::optional<View> ViewOf(const ops::HeadLayout& layout, const View& base) {
  if (base.rank() != static_cast<int>(layout.axes.size()) || IsEmpty(base.Dims())) {
    return std::nullopt;
  }
  std::optional<View> view = base;
  std::string roles;
  int axis = 0;
  for (const ops::HeadLayout::Axis& entry : layout.axes) {
    view = SplitAxis(*view, axis, entry);
    if (!view.has_value()) return std::nullopt;
    for (const auto& factor : entry.factors) {
      if (factor.role != '_') roles.push_back(factor.role);
    }
    axis = static_cast<int>(roles.size());
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

std::string LayoutOf(const Node& attention, size_t operand) {
  return AttributeOr<std::string>(attention, ops::FusedAttention::kLayoutNames[operand], "b n s h");
}

std::optional<View> HeadsOf(const Node& attention, size_t operand, const View& of) {
  const auto layout = ops::HeadLayout::Parse(LayoutOf(attention, operand));
  return layout.ok() ? ViewOf(*layout, of) : std::nullopt;
}

}  // namespace attnrun::opt
