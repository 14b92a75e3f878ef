// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/elements.h"
#include "core/status.h"
#include "ops/normalization/batch_normalization.h"

namespace attnrun::ops {
namespace {

// Mean and population variance of each feature over batch and space.
void BatchMoments(const std::vector<double>& x, const BatchNormalizationShape& shape,
                  std::vector<double>& mean, std::vector<double>& variance) {
  const double count = static_cast<double>(x.size()) / static_cast<double>(shape.features);
  mean.assign(shape.features, 0);
  variance.assign(shape.features, 0);
  auto feature = [&](size_t i) { return i / shape.spatial % shape.features; };
  for (size_t i = 0; i < x.size(); ++i) mean[feature(i)] += x[i] / count;
  for (size_t i = 0; i < x.size(); ++i) {
    variance[feature(i)] += std::pow(x[i] - mean[feature(i)], 2) / count;
  }
}

}  // namespace

absl::Status BatchNormalization::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const BatchNormalizationShape shape, ResolveShape(context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scale, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ToDoubles(context.input(2)));
  std::vector<double> statistics[2];
  for (int i = 0; i < 2; ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(statistics[i], ToDoubles(context.input(3 + i)));
  }
  if (training_) {
    std::vector<double> batch[2];
    BatchMoments(y, shape, batch[0], batch[1]);
    for (int i = 0; i < 2; ++i) {
      std::vector<double>& running = statistics[i];
      for (int64_t f = 0; f < shape.features; ++f) {
        running[f] = running[f] * momentum_ + batch[i][f] * (1.0 - momentum_);
      }
      const Tensor& before = context.input(3 + i);
      ATTNRUN_ASSIGN_OR_RETURN(
          Tensor after, FromDoubles(before.type(), before.shape(), running, context.allocator()));
      context.SetOutput(1 + i, std::move(after));
      running = batch[i];
    }
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t f = i / shape.spatial % shape.features;
    y[i] = (y[i] - statistics[0][f]) / std::sqrt(statistics[1][f] + epsilon_) * scale[f] + bias[f];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(x.type(), x.shape(), y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
