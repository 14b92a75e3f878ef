// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_ACTIVATIONS_H_
#define ATTNRUN_OPS_CONTRIB_ACTIVATIONS_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft Gelu-1 (x), BiasGelu-1 (x, bias), FastGelu-1 (x, bias?) and QuickGelu-1 (x): a
// function of x [..., D], or of x + bias with bias [D].
class BiasedActivation final : public Op {
 public:
  enum class Function {
    kErf,      // x (1 + erf(x / sqrt(2))) / 2
    kTanh,     // x (1 + tanh(c (x + 0.044715 x^3))) / 2, c = sqrt(2 / pi)
    kSigmoid,  // x / (1 + exp(-alpha x)), alpha 1.702
  };

  BiasedActivation(AttributeReader& attributes, Function function);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  double OfNumber(double x) const;

  Function function_;
  float alpha_ = 0;
};

// com.microsoft BiasSplitGelu-1 (x [..., 2 D], bias [2 D]) -> [..., D]: with s = x + bias, the left
// half of s times GELU of its right half.
class BiasSplitGelu final : public Op {
 public:
  explicit BiasSplitGelu(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_ACTIVATIONS_H_
