// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_EMBEDDING_MASKED_MEAN_H_
#define ATTNRUN_OPS_EMBEDDING_MASKED_MEAN_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.MaskedMean-1, made by the optimizer (X [B, S, D], mask [B, S]) -> y [B, D]:
//
//   y[b, d] = sum_s X[b, s, d] * mask[b, s] / max(sum_s mask[b, s], min_count)
//
// X holds floats, and y has its type; the mask holds numbers or bool, mostly 0 and 1. Attribute
// min_count (float, required) makes a text without tokens give 0.
class MaskedMean final : public Op {
 public:
  explicit MaskedMean(AttributeReader& attributes)
      : min_count_(attributes.Required<float>("min_count")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The shape [B, S, D]. kInvalidArgument if the inputs do not fit each other.
  static absl::StatusOr<Shape> Resolve(const OpContext& context);

 private:
  float min_count_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EMBEDDING_MASKED_MEAN_H_
