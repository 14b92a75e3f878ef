// SPDX-License-Identifier: Apache-2.0
#include "ops/embedding/masked_mean.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"

namespace attnrun::ops {

absl::StatusOr<Shape> MaskedMean::Resolve(const OpContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& mask = context.input(1);
  const bool fits = x.rank() == 3 && IsFloatingPoint(x.type()) && mask.rank() == 2 &&
                    mask.dim(0) == x.dim(0) && mask.dim(1) == x.dim(1);
  if (fits) return x.shape();
  return absl::InvalidArgumentError(absl::StrCat("expected floats [B,S,D] and a mask [B,S], but ",
                                                 "found ", TypeAndShape(x), " and ",
                                                 TypeAndShape(mask)));
}

absl::Status MaskedMean::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x, ToDoubles(context.input(0)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> mask, ToDoubles(context.input(1)));
  const Shape means_shape = {shape[0], shape[2]};
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(means_shape));
  std::vector<double> means(size, 0);
  for (int64_t i = 0; i < size; ++i) {
    const int64_t b = i / shape[2];
    double count = 0;
    for (int64_t s = 0; s < shape[1]; ++s) {
      const double weight = mask[b * shape[1] + s];
      count += weight;
      means[i] += x[(b * shape[1] + s) * shape[2] + i % shape[2]] * weight;
    }
    // NaN stays NaN.
    means[i] /= count < min_count_ ? min_count_ : count;
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y, FromDoubles(context.input(0).type(), means_shape, means, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

void MaskedMean::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(0).type;
  const auto& x = context.input(0).dims;
  if (x.has_value() && x->size() == 3) y.dims = std::vector<SymInt>{(*x)[0], (*x)[2]};
  context.SetOutput(0, std::move(y));
}

void MaskedMean::Axes(AxesContext& context) const {
  context.Add({{0, 0}, {1, 0}}, {{0, 0}});
  context.Add({{0, 2}}, {{0, 1}});
}

}  // namespace attnrun::ops
