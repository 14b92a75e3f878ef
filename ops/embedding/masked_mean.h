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

// attnrun.MaskedMean-1, made by the optimizer, with inputs X [B, S, D], floats, and mask [B, S],
// numbers or bool, mostly 0 and 1: y[b, d] = sum_s X[b, s, d] * mask[b, s] / max(sum_s mask[b, s],
// min_count), [B, D], of the type of X. Attribute: min_count (float, required), so that a text
// without tokens gives 0.
class MaskedMean final : public Op {
 public:
  explicit MaskedMean(AttributeReader& attributes)
      : min_count_(attributes.Required<float>("min_count")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

  // [B, S, D]; kInvalidArgument for inputs that do not fit together.
  static absl::StatusOr<Shape> Resolve(const OpContext& context);

 private:
  float min_count_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EMBEDDING_MASKED_MEAN_H_
