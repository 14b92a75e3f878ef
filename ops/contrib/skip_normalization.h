// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_SKIP_NORMALIZATION_H_
#define ATTNRUN_OPS_CONTRIB_SKIP_NORMALIZATION_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft SkipLayerNormalization-1 (x, skip, gamma, beta?, bias?) and
// SkipSimplifiedLayerNormalization-1 (x, skip, gamma, bias?) -> (y, mean?, inverse?, sum?), over
// the last axis:
//   sum = x + skip + bias
//   y = (sum - mean(sum)) / sqrt(variance + epsilon) * gamma + beta
//   y = sum / sqrt(mean(sum^2) + epsilon) * gamma                      if simplified
// x is [B, S, D] or [S, D]; skip broadcasts to it. mean and inverse (1 / sqrt(...)) are float with
// a last axis of 1.
class SkipNormalization final : public Op {
 public:
  SkipNormalization(AttributeReader& attributes, bool centered)
      : centered_(centered), epsilon_(attributes.Float("epsilon", 1e-12F)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  // Indices of inputs; a simplified one has no beta.
  int beta_input() const { return centered_ ? 3 : -1; }
  int bias_input() const { return centered_ ? 4 : 3; }

  bool centered_;
  float epsilon_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_SKIP_NORMALIZATION_H_
