// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/linear/linear_inputs.h"

namespace attnrun::ops {

// The sizes of X as a matrix [M, K] and of the weights side by side [K, N], and the shape of Y.
struct LinearShape {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  Shape output;
};

// attnrun.Linear-1, made by the optimizer: Y = activation(X·[W0 W1 ...] + bias) + residual. X is
// [..., K] of rank 1 or more, Wi is [K, Ni], bias [N] with N = N0 + N1 + ..., and the residual
// broadcasts to Y [..., N]. Attributes: format (string), one of kLinearFormatNames, says which
// numbers X and the weights are (FloatLinear, Int8Linear, NBitLinear) and which inputs the node has
// (LinearInputs); activation (string): a name of kActivations, with activation_alpha and
// activation_beta (floats) where it has parameters.
class Linear : public Op {
 public:
  using Weight = LinearWeight<Tensor>;

  // The operator of the node's format.
  static std::unique_ptr<Linear> Make(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const final;
  void Infer(InferContext& context) const final;
  void Axes(AxesContext& context) const final;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override =
      0;

  // Inputs of every format.
  static constexpr int kX = LinearInputs::kX;
  static constexpr int kWeight = LinearInputs::kWeight;
  static constexpr int kBias = LinearInputs::kBias;
  static constexpr int kResidual = LinearInputs::kResidual;

  // kInvalidArgument for inputs that do not fit together.
  absl::StatusOr<LinearShape> Resolve(const OpContext& context) const;
  // The same for weights that were checked before, with X, and have `columns` columns together.
  absl::StatusOr<LinearShape> ResolveRows(const OpContext& context, int64_t columns) const;

  LinearWeights<Tensor> Weights(const OpContext& context) const;
  LinearWeights<Tensor> Weights(const KernelContext& context) const;

  // The multiplications and additions of a run.
  int64_t Flops(const OpContext& context) const;

  Activation activation() const { return activation_; }

 protected:
  Linear(LinearFormat format, AttributeReader& attributes);

  // The axis of the values of weight `index` along which its columns lie.
  virtual size_t ColumnAxis(int index) const = 0;

  // kInvalidArgument for types that the format does not have.
  virtual absl::Status CheckTypes(const OpContext& context) const = 0;
  // kInvalidArgument if weight `index` does not have this form or does not fit X.
  virtual absl::Status CheckWeight(const Tensor& x, int index, const Weight& weight) const = 0;

  // As CheckWeight, for values that are a matrix of elements.
  absl::Status CheckMatrix(const Tensor& x, int index, const Tensor& values) const;

  // For reference code: the elements of X, those of a weight in the order of its values, and a step
  // from the sums of their products, [M, N], to X·W.
  virtual absl::StatusOr<std::vector<double>> ReadX(const OpContext& context) const;
  virtual absl::StatusOr<std::vector<double>> ReadElements(const Weight& weight) const;
  virtual absl::Status ScaleSums(const OpContext& /*context*/,
                                 std::vector<double>& /*sums*/) const {
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<LinearShape> ShapeOf(const OpContext& context, int64_t columns);
  DataType OutputType(DataType x) const { return inputs_.has_x_scale() ? DataType::kFloat : x; }
  // The weights side by side, column by column.
  absl::StatusOr<std::vector<double>> ReadColumns(const OpContext& context, int64_t k) const;

  LinearInputs inputs_;
  Activation activation_;
};

// True for each weight that has zero points. A kernel that has packed weights with those that are
// constant accepts no others.
std::vector<bool> HaveZeroPoints(absl::Span<const Linear::Weight> weights);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_H_
