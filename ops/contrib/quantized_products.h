// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_QUANTIZED_PRODUCTS_H_
#define ATTNRUN_OPS_CONTRIB_QUANTIZED_PRODUCTS_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft MatMulIntegerToFloat-1 (A, B, a_scale, b_scale, a_zero_point?, b_zero_point?,
// bias?): Y = (A - a_zero_point)·(B - b_zero_point) * a_scale * b_scale + bias as numpy.matmul, in
// the type of the scales, float or float16. A and B are int8 or uint8. A's scale and zero point are
// scalars, B's are scalars or one per column; the bias has one number per column.
class MatMulIntegerToFloat final : public Op {
 public:
  explicit MatMulIntegerToFloat(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// com.microsoft DynamicQuantizeMatMul-1 (A, B, b_scale, b_zero_point?, bias?): MatMulIntegerToFloat
// of a float A that is first quantized as by DynamicQuantizeLinear.
class DynamicQuantizeMatMul final : public Op {
 public:
  explicit DynamicQuantizeMatMul(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// com.microsoft QGemm-1 (A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?,
// y_zero_point?): Y = alpha * a_scale * b_scale * ((A' - a_zero_point)·(B' - b_zero_point) + C), as
// float, or quantized by y_scale and y_zero_point if these are given. A' [M, K] is A, or with
// transA its transpose; B' [K, N] likewise; C is int32 and broadcasts to [M, N]. B's scale and zero
// point are scalars or one per column of B'.
class QGemm final : public Op {
 public:
  explicit QGemm(AttributeReader& attributes);

  enum Input { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kC, kYScale, kYZeroPoint };

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  float alpha_;
  bool transpose_a_;
  bool transpose_b_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_QUANTIZED_PRODUCTS_H_
