// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/normalization/simple_normalization.h"

namespace attnrun::ops {
namespace {

// For each element of x, the index of its group, where groups run over `axes`.
absl::StatusOr<std::vector<int64_t>> GroupsOver(const Tensor& x, absl::Span<const int64_t> axes) {
  Shape kept = x.shape();
  for (const int64_t axis : axes) {
    ATTNRUN_ASSIGN_OR_RETURN(const int normalized, NormalizeAxis(axis, x.rank()));
    kept[normalized] = 1;
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(kept, x.shape()));
  std::vector<int64_t> groups;
  groups.reserve(x.num_elements());
  ForEachOffset(x.shape(), strides, [&](int64_t offset) { groups.push_back(offset); });
  return groups;
}

absl::Status SetResult(OpContext& context, const std::vector<double>& values) {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, FromDoubles(x.type(), x.shape(), values, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> FloatInput(const OpContext& context) {
  const Tensor& x = context.input(0);
  if (IsFloatingPoint(x.type())) return ToDoubles(x);
  return absl::InvalidArgumentError(
      absl::StrCat("expected floats to normalize, but found ", TypeAndShape(x)));
}

}  // namespace

absl::Status LpNormalization::Reference(OpContext& context) const {
  if (p_ != 1 && p_ != 2) {
    return absl::InvalidArgumentError(absl::StrCat("expected p to be 1 or 2, but it is ", p_));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, FloatInput(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> groups,
                           GroupsOver(context.input(0), {axis_}));
  std::vector<double> norms(y.size(), 0);
  for (size_t i = 0; i < y.size(); ++i) {
    norms[groups[i]] += p_ == 1 ? std::fabs(y[i]) : y[i] * y[i];
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const double norm = p_ == 1 ? norms[groups[i]] : std::sqrt(norms[groups[i]]);
    y[i] = norm == 0 ? 0 : y[i] / norm;
  }
  return SetResult(context, y);
}

absl::Status MeanVarianceNormalization::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, FloatInput(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> groups, GroupsOver(context.input(0), axes_));
  std::vector<double> counts(y.size(), 0);
  std::vector<double> sums(y.size(), 0);
  std::vector<double> squares(y.size(), 0);
  for (size_t i = 0; i < y.size(); ++i) {
    counts[groups[i]] += 1;
    sums[groups[i]] += y[i];
  }
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] -= sums[groups[i]] / counts[groups[i]];
    squares[groups[i]] += y[i] * y[i];
  }
  // The standard's function body adds this to the deviation.
  constexpr double kEpsilon = 1e-9;
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] /= std::sqrt(squares[groups[i]] / counts[groups[i]]) + kEpsilon;
  }
  return SetResult(context, y);
}

absl::Status Lrn::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  if (size_ < 1 || x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a positive size and X of shape [batch,channels,...], but size is ",
                     size_, " and X ", TypeAndShape(x)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, FloatInput(context));
  const int64_t channels = x.dim(1);
  int64_t spatial = 1;
  for (int i = 2; i < x.rank(); ++i) spatial *= x.dim(i);
  const int64_t before = (size_ - 1) / 2;
  std::vector<double> y(values.size());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t channel = i / spatial % channels;
    const int64_t first = std::max<int64_t>(0, channel - before);
    const int64_t last = channel + std::min(size_ - 1 - before, channels - 1 - channel);
    double sum = 0;
    for (int64_t c = first; c <= last; ++c) {
      sum += std::pow(values[i + (c - channel) * spatial], 2);
    }
    y[i] = values[i] / std::pow(bias_ + static_cast<double>(alpha_) / size_ * sum, beta_);
  }
  return SetResult(context, y);
}

}  // namespace attnrun::ops
