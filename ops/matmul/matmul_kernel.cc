// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/status.h"
#include "core/strided.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// A stack of float matrices: the first one and the offset of each.
struct Stack {
  MatrixView first;
  std::vector<int64_t> offsets;

  MatrixView at(int64_t i) const {
    MatrixView matrix = first;
    matrix.data += offsets[i];
    return matrix;
  }
};

Stack MakeStack(const float* data, const Shape& batch, const Shape& stack) {
  const int64_t rows = stack[stack.size() - 2];
  const int64_t columns = stack[stack.size() - 1];
  Stack result = {{data, rows, columns, columns}, {}};
  ForEachOffset(batch, BatchStrides(batch, stack, DenseStrides(stack)),
                [&](int64_t offset) { result.offsets.push_back(offset); });
  return result;
}

// True if the stack is one matrix, whatever its rank.
bool IsMatrix(const Shape& stack) {
  return std::all_of(stack.begin(), stack.end() - 2, [](int64_t extent) { return extent == 1; });
}

// The rows of A as one matrix: M times the extents of the leading axes.
int64_t Rows(const MatMulShape& shape) {
  int64_t rows = shape.m;
  for (const int64_t extent : shape.batch) rows *= extent;
  return rows;
}

class MatMulKernel final : public Kernel {
 public:
  // `weight`: B, packed, if it is constant and one matrix, else null.
  explicit MatMulKernel(std::shared_ptr<const PackedMatrix> weight) : weight_(std::move(weight)) {}

  absl::string_view name() const override { return GemmName(weight_.get()); }
  Precision precision() const override { return GemmPrecision(weight_.get()); }

  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    return IsFloatOrHalf(type) && type == context.input(1).type() &&
           ResolveMatMul(context.input(0).shape(), context.input(1).shape()).ok();
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    ATTNRUN_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(a.shape(), b.shape()));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(a, context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, a.type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    if (weight_ != nullptr) {
      Gemm({x.data<float>(), Rows(shape), shape.k, shape.k}, *weight_, y.data(), shape.n, {});
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor w, ToFloat(b, context.allocator()));
      Multiply(shape, x.data<float>(), w.data<float>(), y.data());
    }
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const auto shape = ResolveMatMul(context.input(0).shape(), context.input(1).shape());
    return shape.ok() ? 2 * Rows(*shape) * shape->k * shape->n : 0;
  }

 private:
  static void Multiply(const MatMulShape& shape, const float* a, const float* b, float* y) {
    if (IsMatrix(shape.b)) {
      const GemmProblem problem = {
          {a, Rows(shape), shape.k, shape.k}, {b, shape.k, shape.n, shape.n}, y, shape.n};
      return BatchedGemm(1, [&](int64_t) { return problem; });
    }
    const Stack lhs = MakeStack(a, shape.batch, shape.a);
    const Stack rhs = MakeStack(b, shape.batch, shape.b);
    const auto problem = [&](int64_t i) {
      return GemmProblem{lhs.at(i), rhs.at(i), y + i * shape.m * shape.n, shape.n};
    };
    BatchedGemm(static_cast<int64_t>(lhs.offsets.size()), problem);
  }

  const std::shared_ptr<const PackedMatrix> weight_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MatMul::MakeKernel(const KernelContext& context) const {
  std::shared_ptr<const PackedMatrix> weight;
  const Tensor& b = context.constants[1];
  if (b.defined() && IsFloatOrHalf(b.type()) && b.rank() > 0) {
    Shape stack = b.shape();
    if (stack.size() == 1) stack.push_back(1);
    if (IsMatrix(stack)) {
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor matrix, b.Reshaped(stack));
      ATTNRUN_ASSIGN_OR_RETURN(weight, PackedMatrix::Pack(StoredMatrix(matrix), context, b.type()));
    }
  }
  return std::make_unique<MatMulKernel>(std::move(weight));
}

}  // namespace attnrun::ops
