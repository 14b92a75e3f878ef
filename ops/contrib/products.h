// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_PRODUCTS_H_
#define ATTNRUN_OPS_CONTRIB_PRODUCTS_H_

#include <string>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/matmul/matmul.h"

namespace attnrun::ops {

// How FusedMatMul reads an operand of rank 2 or more before it multiplies.
struct OperandOrder {
  // The last two axes change places.
  bool transposed = false;
  // The first axis stands behind the other leading ones: [M, B, C, K] is [B, C, M, K].
  bool first_axis_last = false;

  // Which axis of the operand each axis of what is multiplied is.
  std::vector<int64_t> Permutation(int rank) const;
};

// com.microsoft FusedMatMul (A, B) and, without transBatchA and transBatchB, TransposeMatMul:
// Y = alpha * A'·B' as numpy.matmul, where A' is A with its first axis behind the other leading
// ones (transBatchA) and then its last two axes exchanged (transA), B' likewise. Operands of rank 1
// stay as they are.
class FusedMatMul final : public Op {
 public:
  FusedMatMul(AttributeReader& attributes, bool with_batches);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  float alpha_;
  OperandOrder orders_[2];
};

// com.microsoft FusedGemm (A, B, C?): Gemm with a function of the result, `activation` ("" is
// none), which is an operator of the standard whose parameters are activation_alpha, _beta and
// _gamma.
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
