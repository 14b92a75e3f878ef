// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/head_normalization.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

absl::Status HeadRmsNormalization::Check(const OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  ATTNRUN_RETURN_IF_ERROR(heads_.Check(x));
  const Shape expected = {static_cast<int64_t>(heads_.offsets.size()), heads_.size};
  if (scale.type() == x.type() && scale.shape() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected scale to be ", Name(x.type()),
                                                 ToString(expected), ", but it is ",
                                                 TypeAndShape(scale)));
}

absl::Status HeadRmsNormalization::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(Check(context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scale, ToDoubles(context.input(1)));
  for (int64_t row = 0; row < x.dim(0) * x.dim(1); ++row) {
    for (size_t i = 0; i < heads_.offsets.size(); ++i) {
      double* head = y.data() + row * x.dim(2) + heads_.offsets[i];
      double sum = 0;
      for (int64_t h = 0; h < heads_.size; ++h) sum += head[h] * head[h];
      const double root = std::sqrt(sum / static_cast<double>(heads_.size) + epsilon_);
      for (int64_t h = 0; h < heads_.size; ++h) {
        head[h] = head[h] / root * scale[static_cast<int64_t>(i) * heads_.size + h];
      }
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(x.type(), x.shape(), y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

void HeadRmsNormalization::Infer(InferContext& context) const { InferLikeInput(context); }

}  // namespace attnrun::ops
