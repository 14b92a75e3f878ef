// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_INT8_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_INT8_LINEAR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/linear/linear.h"

namespace attnrun::ops {

// attnrun.QuantizedLinear-1, made by the optimizer from MatMulInteger and the nodes that scale its
// integers: Y = activation(S * (x_scale * w_scale) + bias) + residual, where S = (X -
// x_zero_point)·([W0 W1 ...] - w_zero_point) in integers that wrap at 32 bits. Inputs: X [..., K]
// of rank 1 or more, W0 [K, N0], bias? [N], residual?, which broadcasts to Y [..., N], x_scale, one
// number, x_zero_point?, one number of X's type, w_scale, one number or [N], w_zero_point?, one
// number or [N] of the weights' type, and further weights W1 [K, N1], ..., whose columns follow
// those of W0: N = N0 + N1 + ... X and the weights are int8 or uint8, all weights of one type; the
// other inputs, and Y, are float. Attribute: activation (string): one of kActivationNames.
class Int8Linear final : public Op {
 public:
  explicit Int8Linear(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs; the first four are those of Linear.
  static constexpr int kX = Linear::kX;
  static constexpr int kWeight = Linear::kWeight;  // W0
  static constexpr int kBias = Linear::kBias;
  static constexpr int kResidual = Linear::kResidual;
  static constexpr int kXScale = 4;
  static constexpr int kXZeroPoint = 5;
  static constexpr int kWeightScale = 6;
  static constexpr int kWeightZeroPoint = 7;
  static constexpr int kMoreWeights = 8;  // W1

  // The number of weights of a node with this many inputs, and the input that is weight `index`.
  static int NumWeights(size_t inputs);
  static int WeightInput(int index) { return index == 0 ? kWeight : kMoreWeights + index - 1; }

  // kInvalidArgument for inputs that do not fit together.
  absl::StatusOr<LinearShape> Resolve(const OpContext& context) const;

  Activation activation() const { return activation_; }

 private:
  Activation activation_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_INT8_LINEAR_H_
