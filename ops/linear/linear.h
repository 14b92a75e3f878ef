// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The sizes of X as a matrix [M, K] and of the weights side by side [K, N], and the shape of Y.
struct LinearShape {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  Shape output;
};

// Sets M and the output shape of `shape`, whose K and N are known, for a node with the inputs X,
// bias and residual of Linear. kInvalidArgument if bias or residual do not fit.
absl::Status ResolveRows(const OpContext& context, LinearShape& shape);

// attnrun.Linear-1, made by the optimizer: Y = activation(X·[W0 W1 ...] + bias) + residual with
// inputs X [..., K] of rank 1 or more, W0 [K, N0], bias? [N], residual?, which broadcasts to Y
// [..., N], and any number of further weights W1 [K, N1], ..., whose columns follow those of W0: N
// = N0 + N1 + ... Attributes: trans_w (ints): for each weight in order, 1 if it is [Ni, K], 0 for
// those beyond the list; activation (string): one of kActivationNames. All inputs are floats,
// perhaps of different types; Y has the type of X.
class Linear final : public Op {
 public:
  explicit Linear(AttributeReader& attributes);
  Linear(std::vector<int64_t> transposed, Activation activation)
      : transposed_(std::move(transposed)), activation_(activation) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs.
  static constexpr int kX = 0;
  static constexpr int kWeight = 1;  // W0
  static constexpr int kBias = 2;
  static constexpr int kResidual = 3;
  static constexpr int kMoreWeights = 4;  // W1

  // The number of weights of a node with this many inputs, and the input that is weight `index`.
  static int NumWeights(size_t inputs);
  static int WeightInput(int index) { return index == 0 ? kWeight : kMoreWeights + index - 1; }
  static constexpr char kTransposed[] = "trans_w";

  // kInvalidArgument for inputs that do not fit together.
  absl::StatusOr<LinearShape> Resolve(const OpContext& context) const;

  // True if Wi is [Ni, K].
  bool is_transposed(int index) const {
    return index < std::ssize(transposed_) && transposed_[index] != 0;
  }
  // K and Ni of Wi. Precondition: `shape` has two axes.
  std::pair<int64_t, int64_t> WeightExtents(int index, const Shape& shape) const {
    return is_transposed(index) ? std::pair(shape[1], shape[0]) : std::pair(shape[0], shape[1]);
  }
  Activation activation() const { return activation_; }

 private:
  absl::Status ResolveWeights(const OpContext& context, LinearShape& shape) const;
  SymInt InferColumns(const InferContext& context) const;

  std::vector<int64_t> transposed_;
  Activation activation_;
};

// Adds the tracks of the rows of X, for a node with the inputs X and residual of Linear.
void AddRowAxes(AxesContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_H_
