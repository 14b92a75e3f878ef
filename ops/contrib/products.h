// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_PRODUCTS_H_
#define ATTNRUN_OPS_CONTRIB_PRODUCTS_H_

#include <string>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/matmul/matmul.h"

namespace attnrun::ops {

// How FusedMatMul permutes an operand of rank 2 or more before it multiplies.
struct OperandOrder {
  // The last two axes are exchanged.
  bool transposed = false;
  // The first axis moves behind the other leading ones: [M, B, C, K] becomes [B, C, M, K].
  bool first_axis_last = false;

  // For each axis of the permuted operand, the axis of the operand.
  std::vector<int64_t> Permutation(int rank) const;
};

// com.microsoft FusedMatMul-1 (A, B) and TransposeMatMul-1, which lacks transBatchA and
// transBatchB: Y = alpha * A'·B' as numpy.matmul. A' is A with its first axis moved behind the
// other leading ones (transBatchA), then its last two axes exchanged (transA); B' likewise.
// Operands of rank 1 stay as they are.
class FusedMatMul final : public Op {
 public:
  FusedMatMul(AttributeReader& attributes, bool with_batches);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  float alpha_;
  OperandOrder orders_[2];
};

// com.microsoft FusedGemm-1 (A, B, C?): Gemm followed by `activation` ("": none), a standard
// operator whose parameters are activation_alpha, activation_beta and activation_gamma.
class FusedGemm final : public Op {
 public:
  explicit FusedGemm(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  double OfNumber(double x) const;

  GemmAttributes attributes_;
  std::string activation_;
  float alpha_;
  float beta_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_PRODUCTS_H_
