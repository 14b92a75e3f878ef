// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/view.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::opt {
namespace {

// Appends a factor, merged with the last one where the two form one even count.
void Append(ViewAxis& axis, ViewFactor factor) {
  if (factor.size.is_constant(1)) return;
  if (!axis.empty() && axis.back().stride == factor.size * factor.stride) {
    axis.back() = {axis.back().size * factor.size, factor.stride};
  } else {
    axis.push_back(std::move(factor));
  }
}

ViewAxis Normalized(const ViewAxis& axis) {
  ViewAxis result;
  for (const ViewFactor& factor : axis) Append(result, factor);
  return result;
}

SymInt ExtentOf(const ViewAxis& axis) {
  SymInt extent(1);
  for (const ViewFactor& factor : axis) extent = extent * factor.size;
  return extent;
}

// Takes factors off the front of `rest` until their sizes multiply to `extent`.
std::optional<ViewAxis> TakeAxis(ViewAxis& rest, const SymInt& extent) {
  ViewAxis axis;
  SymInt missing = extent;
  while (!missing.is_constant(1)) {
    if (rest.empty()) return std::nullopt;
    ViewFactor& front = rest.front();
    if (const auto left = SymInt::DivideExactly(missing, front.size); left.has_value()) {
      Append(axis, front);
      rest.erase(rest.begin());
      missing = *left;
    } else if (const auto inner = SymInt::DivideExactly(front.size, missing); inner.has_value()) {
      Append(axis, {missing, *inner * front.stride});
      front.size = *inner;
      missing = 1;
    } else {
      return std::nullopt;
    }
  }
  return axis;
}

struct AxisSlice {
  SymInt offset;
  ViewAxis axis;
};

std::optional<AxisSlice> SliceAxis(absl::Span<const ViewFactor> axis, const SymInt& start,
                                   const SymInt& length, int64_t step) {
  if (axis.empty()) {
    if (start.is_constant(0) && length.is_constant(1)) return AxisSlice{};
    return std::nullopt;
  }
  const ViewFactor& outer = axis.front();
  if (axis.size() == 1) {
    return AxisSlice{start * outer.stride, Normalized({{length, outer.stride * SymInt(step)}})};
  }
  if (step != 1) return std::nullopt;
  const absl::Span<const ViewFactor> inner = axis.subspan(1);
  const SymInt block = ExtentOf(ViewAxis(inner.begin(), inner.end()));
  const auto first = SymInt::DivideExactly(start, block);
  const auto count = SymInt::DivideExactly(length, block);
  if (first.has_value() && count.has_value()) {
    ViewAxis result = {{*count, outer.stride}};
    result.insert(result.end(), inner.begin(), inner.end());
    return AxisSlice{*first * outer.stride, Normalized(result)};
  }
  // Within one block of the inner factors.
  if (!start.constant() || !length.constant() || !block.constant()) return std::nullopt;
  if (block.is_constant(0)) return std::nullopt;
  const int64_t index = *start.constant() / *block.constant();
  if ((*start.constant() + *length.constant() - 1) / *block.constant() != index) {
    return std::nullopt;
  }
  auto slice = SliceAxis(inner, start - SymInt(index) * block, length, 1);
  if (slice.has_value()) slice->offset = slice->offset + SymInt(index) * outer.stride;
  return slice;
}

bool IsConstant(const ViewAxis& axis) {
  return axis.empty() || (axis.size() == 1 && axis[0].stride.is_constant(0));
}

std::optional<ViewAxis> SumOfAxes(const ViewAxis& a, const ViewAxis& b) {
  if (ExtentOf(a) != ExtentOf(b)) return std::nullopt;
  if (IsConstant(a)) return b;
  if (IsConstant(b)) return a;
  if (a.size() != b.size()) return std::nullopt;
  ViewAxis sum;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size != b[i].size) return std::nullopt;
    Append(sum, {a[i].size, a[i].stride + b[i].stride});
  }
  return sum;
}

}  // namespace

View View::Dense(absl::Span<const SymInt> dims) {
  View view;
  view.axes_.resize(dims.size());
  SymInt stride(1);
  for (size_t i = dims.size(); i-- > 0;) {
    Append(view.axes_[i], {dims[i], stride});
    stride = stride * dims[i];
  }
  return view;
}

View View::Counting(const SymInt& start, absl::Span<const SymInt> dims,
                    absl::Span<const SymInt> steps) {
  View view;
  view.offset_ = start;
  view.axes_.resize(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) Append(view.axes_[i], {dims[i], steps[i]});
  return view;
}

SymInt View::Extent(int axis) const { return ExtentOf(axes_[axis]); }

std::vector<SymInt> View::Dims() const {
  std::vector<SymInt> dims;
  for (const ViewAxis& axis : axes_) dims.push_back(ExtentOf(axis));
  return dims;
}

View View::Transposed(absl::Span<const int64_t> permutation) const {
  View view;
  view.offset_ = offset_;
  for (const int64_t from : permutation) view.axes_.push_back(axes_[from]);
  return view;
}

std::optional<View> View::Reshaped(absl::Span<const SymInt> dims) const {
  ViewAxis rest;
  for (const ViewAxis& axis : axes_) {
    for (const ViewFactor& factor : axis) Append(rest, factor);
  }
  View view;
  view.offset_ = offset_;
  for (const SymInt& dim : dims) {
    auto axis = TakeAxis(rest, dim);
    if (!axis.has_value()) return std::nullopt;
    view.axes_.push_back(*std::move(axis));
  }
  if (!rest.empty()) return std::nullopt;
  return view;
}

std::optional<View> View::Sliced(int axis, const SymInt& start, const SymInt& length,
                                 int64_t step) const {
  if (start.is_constant(0) && step == 1 && length == Extent(axis)) return *this;
  auto slice = SliceAxis(axes_[axis], start, length, step);
  if (!slice.has_value()) return std::nullopt;
  View view = *this;
  view.offset_ = offset_ + slice->offset;
  view.axes_[axis] = std::move(slice->axis);
  return view;
}

std::optional<View> View::Squeezed(int axis) const {
  if (!axes_[axis].empty()) return std::nullopt;
  View view = *this;
  view.axes_.erase(view.axes_.begin() + axis);
  return view;
}

View View::Unsqueezed(int axis) const {
  View view = *this;
  view.axes_.insert(view.axes_.begin() + axis, ViewAxis{});
  return view;
}

std::optional<View> View::Expanded(absl::Span<const SymInt> dims) const {
  if (dims.size() < axes_.size()) return std::nullopt;
  View view = *this;
  view.axes_.insert(view.axes_.begin(), dims.size() - axes_.size(), ViewAxis{});
  for (size_t i = 0; i < dims.size(); ++i) {
    const SymInt extent = ExtentOf(view.axes_[i]);
    if (extent == dims[i]) continue;
    if (!extent.is_constant(1)) return std::nullopt;
    Append(view.axes_[i], {dims[i], 0});
  }
  return view;
}

View View::Tiled(int axis, const SymInt& times) const {
  View view = *this;
  ViewAxis tiled = {{times, 0}};
  tiled.insert(tiled.end(), axes_[axis].begin(), axes_[axis].end());
  view.axes_[axis] = Normalized(tiled);
  return view;
}

View View::WithoutRepeats(int axis) const {
  View view = *this;
  ViewAxis& repeated = view.axes_[axis];
  if (!repeated.empty() && repeated.back().stride.is_constant(0)) repeated.pop_back();
  return view;
}

View View::Scaled(const SymInt& factor) const {
  View view;
  view.offset_ = offset_ * factor;
  for (const ViewAxis& axis : axes_) {
    ViewAxis scaled;
    for (const ViewFactor& step : axis) Append(scaled, {step.size, step.stride * factor});
    view.axes_.push_back(std::move(scaled));
  }
  return view;
}

std::optional<View> View::Sum(const View& a, const View& b) {
  if (a.rank() != b.rank()) return std::nullopt;
  View view;
  view.offset_ = a.offset_ + b.offset_;
  for (int i = 0; i < a.rank(); ++i) {
    auto axis = SumOfAxes(a.axes_[i], b.axes_[i]);
    if (!axis.has_value()) return std::nullopt;
    view.axes_.push_back(*std::move(axis));
  }
  return view;
}

std::optional<View> View::Gathered(int first, absl::Span<const View> positions) const {
  const int count = static_cast<int>(positions.size());
  if (count == 0 || first + count > rank()) return std::nullopt;
  // An index that counts through the whole axis only splits it.
  const std::vector<SymInt> split = positions[0].Dims();
  if (count == 1 && Product(split) == Extent(first) && positions[0] == Dense(split)) {
    std::vector<SymInt> dims = Dims();
    dims.erase(dims.begin() + first);
    dims.insert(dims.begin() + first, split.begin(), split.end());
    return Reshaped(dims);
  }
  std::optional<View> places;
  for (int i = 0; i < count; ++i) {
    const ViewAxis& axis = axes_[first + i];
    if (axis.size() > 1) return std::nullopt;
    // An axis of extent 1 has only index 0.
    const View along = positions[i].Scaled(axis.empty() ? SymInt(0) : axis[0].stride);
    places = places.has_value() ? Sum(*places, along) : along;
    if (!places.has_value()) return std::nullopt;
  }
  View view = *this;
  view.offset_ = offset_ + places->offset_;
  const auto begin = view.axes_.begin() + first;
  view.axes_.erase(begin, begin + count);
  view.axes_.insert(view.axes_.begin() + first, places->axes_.begin(), places->axes_.end());
  return view;
}

std::optional<View> View::Continued(absl::Span<const View> views, int axis) {
  View view = views.front();
  const auto longer =
      absl::c_find_if(views, [&](const View& piece) { return !piece.axes_[axis].empty(); });
  if (longer == views.end()) return std::nullopt;
  const SymInt& stride = longer->axes_[axis].back().stride;
  SymInt extent;
  for (const View& piece : views) {
    const ViewAxis& along = piece.axes_[axis];
    if (along.size() > 1 || (!along.empty() && along[0].stride != stride)) return std::nullopt;
    if (piece.offset_ != view.offset_ + extent * stride) return std::nullopt;
    extent = extent + piece.Extent(axis);
    View other = piece;
    other.offset_ = view.offset_;
    other.axes_[axis] = view.axes_[axis];
    if (other != view) return std::nullopt;
  }
  view.axes_[axis] = Normalized({{extent, stride}});
  return view;
}

std::optional<View> View::Concatenated(absl::Span<const View> views, int axis) {
  const View& first = views.front();
  if (views.size() == 1) return first;
  if (auto whole = Continued(views, axis)) return whole;
  const SymInt step = views[1].offset_ - first.offset_;
  for (size_t i = 1; i < views.size(); ++i) {
    if (views[i].axes_ != first.axes_) return std::nullopt;
    if (views[i].offset_ - views[i - 1].offset_ != step) return std::nullopt;
  }
  View view = first;
  ViewAxis longer = {{static_cast<int64_t>(views.size()), step}};
  longer.insert(longer.end(), first.axes_[axis].begin(), first.axes_[axis].end());
  view.axes_[axis] = Normalized(longer);
  return view;
}

std::optional<AxisPart> View::PartOf(absl::Span<const SymInt> dims) const {
  const View whole = Dense(dims);
  if (rank() != whole.rank()) return std::nullopt;
  int axis = 0;
  while (axis < rank() && axes_[axis] == whole.axes_[axis]) ++axis;
  if (axis == rank() || whole.axes_[axis].empty()) return std::nullopt;
  const auto first = SymInt::DivideExactly(offset_, whole.axes_[axis][0].stride);
  if (!first.has_value() || whole.Sliced(axis, *first, Extent(axis)) != *this) return std::nullopt;
  return AxisPart{axis, *first, Extent(axis)};
}

std::string View::ToString() const {
  const auto factor = [](std::string* out, const ViewFactor& f) {
    absl::StrAppend(out, f.size.ToString(), ":", f.stride.ToString());
  };
  const auto axis = [&](std::string* out, const ViewAxis& a) {
    absl::StrAppend(out, "(", absl::StrJoin(a, " ", factor), ")");
  };
  return absl::StrCat(offset_.ToString(), "+[", absl::StrJoin(axes_, " ", axis), "]");
}

}  // namespace attnrun::opt
