// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_NBIT_MATMUL_NBITS_H_
#define ATTNRUN_OPS_QUANTIZATION_NBIT_MATMUL_NBITS_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/quantization/nbit/nbit_weight.h"

namespace attnrun::ops {

// com.microsoft MatMulNBits-1: Y [..., N] = A [..., K]·W [K, N] + bias [N] for an NBitWeight W.
// Inputs: A; B, the codes; scales; zero_points?; g_idx? [K], which must be k / block_size; bias?. A
// and bias are float, float16 or bfloat16. accuracy_level would permit rounding A, which is never
// done here.
class MatMulNBits final : public Op {
 public:
  explicit MatMulNBits(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs.
  static constexpr int kA = 0;
  static constexpr int kCodes = 1;
  static constexpr int kScales = 2;
  static constexpr int kZeroPoints = 3;
  static constexpr int kGroups = 4;
  static constexpr int kBias = 5;

  // Returns input i of one application; undefined if left out.
  using Inputs = absl::FunctionRef<Tensor(int)>;
  NBitWeight Weight(Inputs input) const;
  // kInvalidArgument or kUnimplemented unless attributes and all inputs but A fit together.
  absl::Status CheckWeight(Inputs input) const;
  // The shape of Y. Resolve checks all inputs, ResolveOutput only A and the bias; errors as
  // CheckWeight.
  absl::StatusOr<Shape> Resolve(const OpContext& context) const;
  absl::StatusOr<Shape> ResolveOutput(const OpContext& context) const;

  int64_t k() const { return k_; }
  int64_t n() const { return n_; }
  int64_t bits() const { return bits_; }
  int64_t block_size() const { return block_size_; }

 private:
  absl::Status CheckGroups(const Tensor& groups) const;

  int64_t k_;
  int64_t n_;
  int64_t bits_;
  int64_t block_size_;
  int64_t prepacked_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_NBIT_MATMUL_NBITS_H_
