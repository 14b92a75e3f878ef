// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MATMUL_MATMUL_H_
#define ATTNRUN_OPS_MATMUL_MATMUL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The operands of numpy.matmul: stacks of matrices A [.., M, K] and B [.., K, N] whose leading axes
// broadcast. A 1-D A is a row and a 1-D B a column; the output lacks the axis that this adds.
struct MatMulShape {
  int64_t m;
  int64_t k;
  int64_t n;
  // The broadcast leading axes.
  Shape batch;
  // The shapes of the operands as stacks; a 1-D operand has become a matrix.
  Shape a;
  Shape b;
  Shape output;
};

// The shapes of a product. kInvalidArgument for a scalar, for different K and for leading axes that
// do not broadcast.
absl::StatusOr<MatMulShape> ResolveMatMul(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// As ResolveMatMul, for shapes that are known in part; nullopt if a rank is unknown or 0. Tells the
// context which extents must be equal.
std::optional<std::vector<SymInt>> InferMatMul(InferContext& context,
                                               const std::optional<std::vector<SymInt>>& a,
                                               const std::optional<std::vector<SymInt>>& b);

// The strides along `batch` of a stack [.., R, C] with these strides: 0 along axes that broadcast.
Shape BatchStrides(absl::Span<const int64_t> batch, absl::Span<const int64_t> stack,
                   absl::Span<const int64_t> strides);

// ONNX MatMul-1, -9, -13: Y = A·B as in numpy.matmul. A and B have one type: a float, int32, int64,
// uint32 or uint64; integers wrap.
class MatMul final : public Op {
 public:
  explicit MatMul(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

// The attributes of Gemm.
struct GemmAttributes {
  float alpha;
  float beta;
  bool transpose_a;
  bool transpose_b;
};

// ONNX Gemm-7, -9, -11, -13: Y = alpha * A'·B' + beta * C of matrices. A' [M, K] is A or its
// transpose, B' [K, N] is B or its transpose; C broadcasts to [M, N] and is optional from version
// 11 on.
class GemmOp final : public Op {
 public:
  explicit GemmOp(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  GemmAttributes attributes_;
};

// The extents of a Gemm. ResolveGemm: kInvalidArgument if the operands are no matrices, have
// different K, or C does not broadcast. `c` may be null.
struct GemmShape {
  int64_t m;
  int64_t k;
  int64_t n;
};
absl::StatusOr<GemmShape> ResolveGemm(const GemmAttributes& attributes, const Tensor& a,
                                      const Tensor& b, const Tensor* c);

// The strides of a zero point of MatMulInteger along the elements of its operand, a stack of
// matrices. A zero point of rank 1 holds one value per row (`per_row`) or per column.
// kInvalidArgument if it does not broadcast to the stack.
absl::StatusOr<Shape> ZeroPointStrides(const Tensor& zero_point, const Shape& stack, bool per_row);

// kInvalidArgument unless A and B are 8-bit integers and each zero point has the type of its
// operand.
absl::Status CheckMatMulInteger(const OpContext& context);

// ONNX MatMulInteger-10: Y = (A - a_zero_point)·(B - b_zero_point) in int32, as in numpy.matmul. A
// and B are int8 or uint8. A zero point is a scalar, or one value per row of A ([M] or [.., M, 1])
// or per column of B ([N] or [.., 1, N]).
class MatMulInteger final : public Op {
 public:
  explicit MatMulInteger(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MATMUL_MATMUL_H_
