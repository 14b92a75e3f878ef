// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/axis_map.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {
namespace {

// Adds a place of the base to places that divide each other in turn. False if it does not divide or
// is not divided by one of them.
bool AddPlace(std::vector<SymInt>& places, const SymInt& place) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == place) return true;
    if (SymInt::DivideExactly(places[i], place).has_value()) {
      places.insert(places.begin() + static_cast<std::ptrdiff_t>(i), place);
      return true;
    }
    if (!SymInt::DivideExactly(place, places[i]).has_value()) return false;
  }
  places.push_back(place);
  return true;
}

// The places at which a factor of an axis begins or ends; nullopt if they do not divide each other.
std::optional<std::vector<SymInt>> PlacesOf(absl::Span<const ViewAxis> from,
                                            absl::Span<const ViewAxis> to) {
  std::vector<SymInt> places;
  for (const absl::Span<const ViewAxis> axes : {from, to}) {
    for (const ViewAxis& axis : axes) {
      for (const ViewFactor& factor : axis) {
        if (factor.stride.is_constant(0) || factor.size.is_constant(0)) return std::nullopt;
        if (!AddPlace(places, factor.stride)) return std::nullopt;
        if (!AddPlace(places, factor.stride * factor.size)) return std::nullopt;
      }
    }
  }
  return places;
}

// The axis of each step between neighbouring places, and the steps in the order of the axes.
struct Steps {
  std::vector<int> axis;
  std::vector<int> order;
};

Steps StepsOf(absl::Span<const ViewAxis> axes, const std::vector<SymInt>& places, int none) {
  Steps steps;
  steps.axis.assign(places.empty() ? 0 : places.size() - 1, none);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    for (const ViewFactor& factor : axes[axis]) {
      const auto low = absl::c_find(places, factor.stride) - places.begin();
      for (auto at = absl::c_find(places, factor.stride * factor.size) - places.begin();
           at > low;) {
        steps.axis[--at] = static_cast<int>(axis);
        steps.order.push_back(static_cast<int>(at));
      }
    }
  }
  return steps;
}

}  // namespace

std::optional<AxisMap> AxisMap::Between(absl::Span<const ViewAxis> from,
                                        absl::Span<const ViewAxis> to) {
  const auto places = PlacesOf(from, to);
  if (!places.has_value()) return std::nullopt;
  const Steps before = StepsOf(from, *places, kNone);
  const Steps after = StepsOf(to, *places, kNone);
  AxisMap map;
  map.from_rank_ = static_cast<int>(from.size());
  map.to_rank_ = static_cast<int>(to.size());
  std::vector<int> part_of(before.axis.size(), kNone);
  const auto add = [&](int step) {
    part_of[step] = static_cast<int>(map.parts_.size());
    const auto size = SymInt::DivideExactly((*places)[step + 1], (*places)[step]);
    map.parts_.push_back({size.value_or(SymInt(1)), before.axis[step], after.axis[step]});
  };
  for (const int step : before.order) add(step);
  for (const int step : after.order) {
    if (part_of[step] == kNone) add(step);
    map.order_.push_back(part_of[step]);
  }
  return map;
}

// The extents of a tensor's parts, in the order of parts_, and of the axes that it becomes.
struct AxisMap::Plan {
  std::vector<SymInt> sizes;
  // The parts of `to`, as they are and with none of extent 1 that is joined to a longer one; then
  // the axes that are kept.
  std::vector<SymInt> ordered;
  std::vector<SymInt> even;
  std::vector<SymInt> joined;
};

int AxisMap::PartsOf(int from) const {
  return static_cast<int>(absl::c_count_if(parts_, [&](const Part& p) { return p.from == from; }));
}

bool AxisMap::KeepsAny(int from) const {
  if (PartsOf(from) != 1) return PartsOf(from) == 0;
  const auto only = absl::c_find_if(parts_, [&](const Part& part) { return part.from == from; });
  return absl::c_none_of(parts_, [&](const Part& other) {
    return other.from != from && other.to == only->to && !other.size.is_constant(1);
  });
}

SymInt AxisMap::ExtentOf(int from) const {
  SymInt extent(1);
  for (const Part& part : parts_) {
    if (part.from == from) extent = extent * part.size;
  }
  return extent;
}

std::optional<AxisMap::Plan> AxisMap::PlanFor(absl::Span<const SymInt> of, int kept) const {
  std::vector<SymInt> dims(of.begin(), of.end());
  const int missing = from_rank_ + kept - static_cast<int>(dims.size());
  if (missing < 0) return std::nullopt;
  dims.insert(dims.begin(), missing, SymInt(1));
  // An axis without parts has extent 1.
  for (int axis = 0; axis < from_rank_; ++axis) {
    if (PartsOf(axis) == 0 && !dims[axis].is_constant(1)) return std::nullopt;
    // An axis that is split or joined has the extent of its parts, not one that broadcasts to it.
    const bool whole = dims[axis].is_constant(1) || dims[axis] == ExtentOf(axis);
    if (!whole && !KeepsAny(axis)) return std::nullopt;
  }
  Plan plan;
  for (const Part& part : parts_) {
    const SymInt extent = part.from == kNone ? SymInt(1) : dims[part.from];
    // An axis of one part keeps its extent, though it may have another symbol than the part.
    plan.sizes.push_back(extent.is_constant(1) || PartsOf(part.from) == 1 ? extent : part.size);
    if (part.to == kNone && !plan.sizes.back().is_constant(1)) return std::nullopt;
  }
  // The axes that get a part longer than 1.
  std::vector<bool> spread(to_rank_, false);
  for (const int at : order_) {
    if (!plan.sizes[at].is_constant(1)) spread[parts_[at].to] = true;
  }
  plan.joined.assign(to_rank_, SymInt(1));
  for (const int at : order_) {
    const Part& part = parts_[at];
    const bool grows = spread[part.to] && plan.sizes[at].is_constant(1);
    plan.ordered.push_back(plan.sizes[at]);
    plan.even.push_back(grows ? part.size : plan.sizes[at]);
    plan.joined[part.to] = plan.joined[part.to] * plan.even.back();
  }
  for (int axis = from_rank_; axis < from_rank_ + kept; ++axis) {
    for (auto* extents : {&plan.ordered, &plan.even, &plan.joined}) {
      extents->push_back(dims[axis]);
    }
  }
  return plan;
}

bool AxisMap::Names(absl::Span<const SymInt> dims, int kept) const {
  const int missing = from_rank_ + kept - static_cast<int>(dims.size());
  return absl::c_all_of(parts_, [&](const Part& part) {
    if (part.from < missing || PartsOf(part.from) != 1) return true;
    const SymInt& extent = dims[part.from - missing];
    return extent == part.size || extent.is_constant(1) ||
           (!extent.constant().has_value() && !part.size.constant().has_value());
  });
}

std::optional<std::vector<SymInt>> AxisMap::Extents(absl::Span<const SymInt> dims, int kept) const {
  if (!Names(dims, kept)) return std::nullopt;
  auto plan = PlanFor(dims, kept);
  return plan.has_value() ? std::optional(std::move(plan->joined)) : std::nullopt;
}

std::optional<View> AxisMap::Apply(const View& view, int kept) const {
  const auto plan = PlanFor(view.Dims(), kept);
  if (!plan.has_value() || !Names(view.Dims(), kept)) return std::nullopt;
  std::vector<SymInt> split = plan->sizes;
  split.insert(split.end(), plan->joined.end() - kept, plan->joined.end());
  const auto parts = view.Reshaped(split);
  if (!parts.has_value()) return std::nullopt;
  std::vector<int64_t> order(order_.begin(), order_.end());
  for (int i = 0; i < kept; ++i) order.push_back(static_cast<int64_t>(parts_.size()) + i);
  // A view broadcasts at no cost, so it gets the whole extents.
  std::vector<SymInt> full = plan->ordered;
  std::vector<SymInt> joined(to_rank_, SymInt(1));
  for (size_t i = 0; i < order_.size(); ++i) {
    if (full[i].is_constant(1)) full[i] = parts_[order_[i]].size;
    joined[parts_[order_[i]].to] = joined[parts_[order_[i]].to] * full[i];
  }
  joined.insert(joined.end(), plan->joined.end() - kept, plan->joined.end());
  const auto expanded = parts->Transposed(order).Expanded(full);
  return expanded.has_value() ? expanded->Reshaped(joined) : std::nullopt;
}

Value* AxisMap::Apply(Patch& patch, Value* value, absl::Span<Value* const> like, int kept) const {
  const std::vector<SymInt>* dims = patch.facts().DimsOf(value);
  if (dims == nullptr) return nullptr;
  const auto plan = PlanFor(*dims, kept);
  if (!plan.has_value()) return nullptr;
  std::vector<Value*> sources(like.begin(), like.end());
  sources.push_back(value);
  // Axes of extent 1 change places without a Transpose.
  std::vector<int64_t> moved;
  for (const int at : order_) {
    if (!plan->sizes[at].is_constant(1)) moved.push_back(at);
  }
  if (!absl::c_is_sorted(moved)) {
    std::vector<SymInt> split = plan->sizes;
    split.insert(split.end(), plan->joined.end() - kept, plan->joined.end());
    value = ReshapeTo(patch, value, split, sources);
    std::vector<int64_t> order(order_.begin(), order_.end());
    // Parts that `to` lacks have extent 1 and go to the front.
    for (size_t at = 0; at < parts_.size(); ++at) {
      if (parts_[at].to == kNone) order.insert(order.begin(), static_cast<int64_t>(at));
    }
    for (int i = 0; i < kept; ++i) order.push_back(static_cast<int64_t>(parts_.size()) + i);
    value = patch.Transpose(value, order);
    sources.push_back(value);
  }
  if (plan->even != plan->ordered) {
    value = ReshapeTo(patch, value, plan->ordered, sources);
    Value* shape = ShapeOperand(patch, plan->even, sources);
    if (value == nullptr || shape == nullptr) return nullptr;
    value = patch.Op("Expand", {value, shape});
    sources.push_back(value);
  }
  const std::vector<SymInt>* now = patch.facts().DimsOf(value);
  if (now == nullptr) return nullptr;
  // Broadcasting adds the 1s on the left.
  const auto first =
      absl::c_find_if(plan->joined, [](const SymInt& e) { return !e.is_constant(1); });
  const auto of_now = absl::c_find_if(*now, [](const SymInt& e) { return !e.is_constant(1); });
  const bool fits = static_cast<int>(now->size()) <= to_rank_ + kept && kept == 0;
  if (fits && std::equal(first, plan->joined.end(), of_now, now->end())) return value;
  return ReshapeTo(patch, value, plan->joined, sources);
}

std::vector<ViewAxis> AxesWithout(const View& view, int axis) {
  std::vector<ViewAxis> axes = view.axes();
  axes.erase(axes.begin() + axis);
  return axes;
}

std::optional<std::array<SymInt, 3>> SplitAround(const ViewAxis& axis, const ViewAxis& part) {
  if (part.size() != 1 || axis.size() != 1) return std::nullopt;
  const auto inside = SymInt::DivideExactly(part[0].stride, axis[0].stride);
  const auto outside =
      SymInt::DivideExactly(axis[0].stride * axis[0].size, part[0].stride * part[0].size);
  if (!inside.has_value() || !outside.has_value()) return std::nullopt;
  return std::array<SymInt, 3>{*outside, part[0].size, *inside};
}

}  // namespace attnrun::opt
