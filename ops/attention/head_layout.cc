// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/head_layout.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attnrun/shape.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

using Axis = HeadLayout::Axis;
using Factor = HeadLayout::Factor;

constexpr absl::string_view kRoles = "bsnh";

bool IsRole(char c) { return kRoles.find(c) != absl::string_view::npos; }

std::string Describe(const Factor& factor) {
  std::string text(1, factor.role);
  if (factor.size != HeadLayout::kRest) absl::StrAppend(&text, ":", factor.size);
  return text;
}

std::string Describe(const Axis& axis) {
  const bool whole = axis.offset == 0 && axis.factors.size() == 1 &&
                     axis.factors[0].size == HeadLayout::kRest && IsRole(axis.factors[0].role);
  if (whole) return Describe(axis.factors[0]);
  const std::string factors = absl::StrJoin(
      axis.factors, " ",
      [](std::string* out, const Factor& factor) { absl::StrAppend(out, Describe(factor)); });
  return absl::StrCat(axis.offset == 0 ? "" : absl::StrCat(axis.offset, "+"), "(", factors, ")");
}

// The product of the sizes given; INT64_MAX, which no axis reaches, if it overflows.
int64_t KnownProduct(const Axis& axis) {
  int64_t product = 1;
  for (const Factor& factor : axis.factors) {
    if (factor.size == HeadLayout::kRest) continue;
    if (factor.size > std::numeric_limits<int64_t>::max() / product) {
      return std::numeric_limits<int64_t>::max();
    }
    product *= factor.size;
  }
  return product;
}

bool HasRest(const Axis& axis) {
  return std::any_of(axis.factors.begin(), axis.factors.end(),
                     [](const Factor& factor) { return factor.size == HeadLayout::kRest; });
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<HeadLayout> Parse() {
    HeadLayout layout;
    for (SkipBlanks(); at_ < text_.size(); SkipBlanks()) {
      ATTNRUN_ASSIGN_OR_RETURN(Axis axis, ParseAxis());
      layout.axes.push_back(std::move(axis));
      if (at_ < text_.size() && text_[at_] != ' ') return Expected("a blank");
    }
    ATTNRUN_RETURN_IF_ERROR(layout.Check());
    return layout;
  }

 private:
  absl::Status Expected(absl::string_view what) const {
    const std::string found =
        at_ < text_.size() ? absl::StrCat("'", text_.substr(at_), "'") : "its end";
    return absl::InvalidArgumentError(
        absl::StrCat("layout '", text_, "': expected ", what, ", but found ", found));
  }

  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<int64_t> ParseNumber() {
    int64_t value = 0;
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int64_t digit = text_[at_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) {
        return Expected("a number below 2^63");
      }
      value = 10 * value + digit;
    }
    if (at_ == begin) return Expected("a number");
    return value;
  }

  absl::StatusOr<Axis> ParseAxis() {
    Axis axis;
    if (IsRole(text_[at_])) {
      axis.factors.push_back({text_[at_++]});
      return axis;
    }
    if (text_[at_] != '(') {
      if (text_[at_] < '0' || text_[at_] > '9') {
        return Expected("a role (b, s, n or h), '(' or an offset");
      }
      ATTNRUN_ASSIGN_OR_RETURN(axis.offset, ParseNumber());
      if (!Take('+')) return Expected("'+'");
    }
    if (!Take('(')) return Expected("'('");
    for (SkipBlanks(); !Take(')'); SkipBlanks()) {
      if (at_ >= text_.size() || (!IsRole(text_[at_]) && text_[at_] != '_')) {
        return Expected("a role (b, s, n or h), '_' or ')'");
      }
      Factor factor{text_[at_++]};
      if (Take(':')) {
        ATTNRUN_ASSIGN_OR_RETURN(factor.size, ParseNumber());
      }
      axis.factors.push_back(factor);
    }
    return axis;
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

// Stores a role's extent and stride in the view.
void Place(const Factor& factor, int64_t size, int64_t stride, HeadView& view) {
  switch (factor.role) {
    case 'b':
      view.batch = size;
      view.strides.batch = stride;
      return;
    case 's':
      view.sequence = size;
      view.strides.sequence = stride;
      return;
    case 'n':
      view.heads = size;
      view.strides.head = stride;
      return;
    case 'h':
      view.size = size;
      view.strides.channel = stride;
      return;
    default:
      return;
  }
}

// Adds the factors of one axis to the view; false if they do not fit.
bool Place(const Axis& axis, int64_t extent, int64_t axis_stride, HeadView& view) {
  const int64_t product = KnownProduct(axis);
  const bool rest = HasRest(axis);
  if (rest ? extent % product != 0 : product > extent) return false;
  int64_t step = 1;
  int64_t last = axis.offset;
  if (last < 0 || last >= std::max<int64_t>(extent, 1)) return false;
  for (auto factor = axis.factors.rbegin(); factor != axis.factors.rend(); ++factor) {
    const int64_t size = factor->size == HeadLayout::kRest ? extent / product : factor->size;
    Place(*factor, size, step * axis_stride, view);
    if (factor->role != '_' && size > 0) last += (size - 1) * step;
    step *= size;
  }
  view.offset += axis.offset * axis_stride;
  // An empty axis has no element that could lie outside.
  return last < std::max<int64_t>(extent, 1) || (rest && extent == 0);
}

}  // namespace

absl::StatusOr<HeadLayout> HeadLayout::Parse(absl::string_view text) {
  return Parser(text).Parse();
}

std::string HeadLayout::ToString() const {
  return absl::StrJoin(
      axes, " ", [](std::string* out, const Axis& axis) { absl::StrAppend(out, Describe(axis)); });
}

absl::Status HeadLayout::Check() const {
  const auto fail = [&](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat("layout '", ToString(), "': ", what...));
  };
  std::string seen;
  for (const Axis& axis : axes) {
    if (axis.offset < 0) return fail("offset ", axis.offset, " is negative");
    int rests = 0;
    for (const Factor& factor : axis.factors) {
      const std::string role(1, factor.role);
      if (!IsRole(factor.role) && factor.role != '_') return fail("unknown role '", role, "'");
      if (factor.role != '_' && seen.find(factor.role) != std::string::npos) {
        return fail("role '", role, "' has more than one place");
      }
      seen += factor.role;
      if (factor.size == kRest) {
        if (factor.role == '_') return fail("a gap needs a size");
        if (++rests > 1) return fail("more than one factor of ", Describe(axis), " lacks its size");
      } else if (factor.size < 1) {
        return fail("size ", factor.size, " of '", role, "' is below 1");
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HeadView> HeadLayout::Resolve(absl::Span<const int64_t> shape) const {
  return Resolve(shape, DenseStrides(shape));
}

absl::StatusOr<HeadView> HeadLayout::Resolve(absl::Span<const int64_t> shape,
                                             absl::Span<const int64_t> strides) const {
  ATTNRUN_RETURN_IF_ERROR(Check());
  if (shape.size() != axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("layout '", ToString(), "' has ", axes.size(),
                                                   " axes, but the shape is ",
                                                   attnrun::ToString(shape)));
  }
  HeadView view;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (Place(axes[i], shape[i], strides[i], view)) continue;
    return absl::InvalidArgumentError(absl::StrCat("layout '", ToString(), "': ", Describe(axes[i]),
                                                   " does not fit axis ", i, " of shape ",
                                                   attnrun::ToString(shape)));
  }
  return view;
}

std::optional<SymInt> HeadLayout::Extent(char role, const std::vector<SymInt>& dims) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const Factor& factor : axes[i].factors) {
      if (factor.role != role) continue;
      if (factor.size != kRest) return SymInt(factor.size);
      if (dims.size() != axes.size()) return SymInt::Unknown();
      return SymInt::DivideExactly(dims[i], KnownProduct(axes[i])).value_or(SymInt::Unknown());
    }
  }
  return std::nullopt;
}

}  // namespace attnrun::ops
