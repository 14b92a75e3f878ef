// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_ACTIVATIONS_H_
#define ATTNRUN_OPS_CONTRIB_ACTIVATIONS_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft Gelu (x), BiasGelu (x, bias), FastGelu (x, bias?) and QuickGelu (x): the function
// of x, or of x + bias, where the bias [D] is one number for each index of the last axis.
class BiasedActivation final : public Op {
 public:
  enum class Function {
    kErf,      // x (1 + erf(x / sqrt(2))) / 2
    kTanh,     // x (1 + tanh(0.797885 x + 0.035677 x^3)) / 2, the numbers being sqrt(2 / pi) and
               // 0.044715 of it
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

// com.microsoft BiasSplitGelu (x [..., 2 D], bias [2 D]) -> [..., D]: of s = x + bias, the left
// half times GELU of the right one.
class BiasSplitGelu final : public Op {
 public:
  explicit BiasSplitGelu(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_ACTIVATIONS_H_
