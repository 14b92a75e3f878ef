// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/skip_normalization.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/normalization/normalize_rows.h"

namespace attnrun::ops {
namespace {

// x + skip + bias.
absl::StatusOr<std::vector<double>> Sum(const OpContext& context, int bias_input) {
  const Tensor& x = context.input(0);
  const Tensor& skip = context.input(1);
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(x, 1));
  if (skip.type() != x.type()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected skip to be ", Name(x.type()), " like the input, but it is ", TypeAndShape(skip)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> sum, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> added, ToDoubles(skip));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadRow(context, bias_input, 0));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(skip.shape(), x.shape()));
  size_t i = 0;
  ForEachOffset(x.shape(), strides, [&](int64_t offset) {
    sum[i] += added[offset] + bias[i % bias.size()];
    ++i;
  });
  return sum;
}

}  // namespace

absl::Status SkipNormalization::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> sum, Sum(context, bias_input()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> gamma, ReadRow(context, 2, 1));
  std::vector<double> beta(gamma.size(), 0);
  if (centered_) {
    ATTNRUN_ASSIGN_OR_RETURN(beta, ReadRow(context, beta_input(), 0));
  }
  const auto length = static_cast<int64_t>(gamma.size());
  Shape statistics = x.shape();
  statistics.back() = 1;
  std::vector<double> y = sum;
  const auto [means, inverses] =
      NormalizeRows(y, std::ssize(y) / length, length, epsilon_, centered_);
  for (int64_t i = 0; i < std::ssize(y); ++i) y[i] = y[i] * gamma[i % length] + beta[i % length];
  ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, 0, x.type(), x.shape(), y));
  ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, 1, DataType::kFloat, statistics, means));
  ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, 2, DataType::kFloat, statistics, inverses));
  return SetDoubles(context, 3, x.type(), x.shape(), sum);
}

void SkipNormalization::Infer(InferContext& context) const {
  const ValueFacts& x = context.input(0);
  ValueFacts statistics{DataType::kFloat, x.dims, std::nullopt};
  if (x.dims.has_value() && !x.dims->empty()) statistics.dims->back() = 1;
  SetDims(context, 0, x.dims);
  context.SetOutput(1, statistics);
  context.SetOutput(2, std::move(statistics));
  SetDims(context, 3, x.dims);
}

void SkipNormalization::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    AxisTrack track = context.Track({{0, axis}}, {{0, axis}, {1, axis}, {2, axis}, {3, axis}});
    if (AddOperand(context, 1, *context.input(0).dims, axis, track)) context.Add(std::move(track));
  }
}

}  // namespace attnrun::ops
