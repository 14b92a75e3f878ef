// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/normalize_rows.h"

namespace attnrun::ops {
namespace {

// Input i broadcast to the shape of X; `otherwise` everywhere if it is left out.
absl::StatusOr<std::vector<double>> Broadcast(const OpContext& context, int i, double otherwise) {
  const Tensor& x = context.input(0);
  if (!context.has_input(i)) return std::vector<double>(x.num_elements(), otherwise);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(context.input(i)));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides,
                           BroadcastStrides(context.input(i).shape(), x.shape()));
  std::vector<double> wide;
  wide.reserve(x.num_elements());
  ForEachOffset(x.shape(), strides, [&](int64_t offset) { wide.push_back(values[offset]); });
  return wide;
}

}  // namespace

absl::Status LayerNormalization::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const LayerNormalizationShape shape, ResolveShape(spec_, context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scale, Broadcast(context, 1, 1));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, Broadcast(context, 2, 0));
  const auto [means, inverses] =
      NormalizeRows(y, shape.rows, shape.length, spec_.epsilon, spec_.centered);
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] * scale[i] + bias[i];
  const auto set = [&](int i, DataType type, const Shape& of,
                       const std::vector<double>& values) -> absl::Status {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, FromDoubles(type, of, values, context.allocator()));
    context.SetOutput(i, std::move(tensor));
    return absl::OkStatus();
  };
  ATTNRUN_RETURN_IF_ERROR(set(0, context.input(1).type(), x.shape(), y));
  if (context.wants_output(1) && spec_.mean_output == 1) {
    ATTNRUN_RETURN_IF_ERROR(set(1, spec_.stash, shape.statistics, means));
  }
  if (spec_.inverse_output < 0 || !context.wants_output(spec_.inverse_output)) {
    return absl::OkStatus();
  }
  return set(spec_.inverse_output, spec_.stash, shape.statistics, inverses);
}

}  // namespace attnrun::ops
