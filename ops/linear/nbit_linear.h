// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_NBIT_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_NBIT_LINEAR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/linear/linear.h"
#include "ops/nbit/nbit_weight.h"

namespace attnrun::ops {

// attnrun.BlockQuantizedLinear-1, made by the optimizer from com.microsoft.MatMulNBits: Y =
// activation(X·[W0 W1 ...] + bias) + residual, each Wi an NBitWeight [K, Ni]. Inputs: X [..., K] of
// rank 1 or more, codes of W0, bias? [N], residual?, which broadcasts to Y [..., N], scales and
// zero_points? of W0, and codes, scales and zero_points? of any number of further weights, whose
// columns follow those of W0: N = N0 + N1 + ... Attributes: K, bits (4 if left out) and block_size
// of all weights; activation (string): one of kActivationNames. X, bias and residual are floats,
// perhaps of different types; Y has the type of X.
class NBitLinear final : public Op {
 public:
  explicit NBitLinear(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs; the first four are those of Linear.
  static constexpr int kX = Linear::kX;
  static constexpr int kCodes = Linear::kWeight;
  static constexpr int kBias = Linear::kBias;
  static constexpr int kResidual = Linear::kResidual;
  static constexpr int kScales = 4;
  static constexpr int kZeroPoints = 5;
  static constexpr int kMoreWeights = 6;  // codes, scales and zero points of W1

  // The number of weights of a node with this many inputs, and the inputs of each weight.
  struct WeightInputs {
    int codes;
    int scales;
    int zero_points;
  };
  static int NumWeights(size_t inputs);
  static WeightInputs InputsOf(int weight);

  // The weights of a node with `inputs` inputs; `input` returns an undefined tensor for one that is
  // left out.
  std::vector<NBitWeight> Weights(size_t inputs, absl::FunctionRef<Tensor(int)> input) const;

  // Resolve: kInvalidArgument for inputs that do not fit together. ResolveOutput: the same without
  // the weights, which have `columns` columns together.
  absl::StatusOr<LinearShape> Resolve(const OpContext& context) const;
  absl::StatusOr<LinearShape> ResolveOutput(const OpContext& context, int64_t columns) const;

  Activation activation() const { return activation_; }

 private:
  int64_t k_;
  int64_t bits_;
  int64_t block_size_;
  Activation activation_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_NBIT_LINEAR_H_
