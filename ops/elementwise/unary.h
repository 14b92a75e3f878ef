// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_UNARY_H_
#define ATTNRUN_OPS_ELEMENTWISE_UNARY_H_

#include <memory>

#include "ops/elementwise/rows.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"
#include "ops/interface/type_set.h"
#include "ops/tensors/unary_function.h"

namespace attnrun::ops {

// A UnaryFunction as an operator: y = f(x), element by element, in the type of x. There are those
// that RegisterUnary and RegisterActivation list.
class Unary final : public Op {
 public:
  Unary(UnaryFunction function, UnaryParameters parameters, TypeSet types)
      : function_(function), parameters_(parameters), types_(types) {}

  UnaryFunction function() const { return function_; }
  const UnaryParameters& parameters() const { return parameters_; }

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const UnaryFunction function_;
  const UnaryParameters parameters_;
  const TypeSet types_;
};

// The row function of an activation on floats; null for the other functions.
RowFunction ActivationRow(UnaryFunction function);

// Registers Abs, Neg, Sign, Ceil, Floor, Round, Sqrt, Reciprocal, Exp, Log, Erf, the trigonometric
// and hyperbolic functions and their inverses, and BitwiseNot.
void RegisterUnary(OpRegistry& registry);

// Registers Celu, Elu, Gelu, HardSigmoid, HardSwish, LeakyRelu, Mish, Relu, Selu, Sigmoid,
// Shrink, Softplus, Softsign, Swish and ThresholdedRelu.
void RegisterActivation(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_UNARY_H_
