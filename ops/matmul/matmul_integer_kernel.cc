// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include "core/status.h"
#include "core/strided.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/interface/optional_input.h"
#include "ops/matmul/matmul.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// A stack of integer matrices: the offset of each matrix and of its first zero point, and the step
// to the zero point of the next row or column.
struct IntegerStack {
  std::vector<int64_t> offsets;
  std::vector<int64_t> zero_offsets;
  int64_t zero_step = 0;
};

// nullopt if zero points vary along K, so that a row or column has several.
std::optional<IntegerStack> StackOf(const MatMulShape& shape, const Shape& matrices,
                                    const Tensor* zero, bool per_row) {
  IntegerStack stack;
  ForEachOffset(shape.batch, BatchStrides(shape.batch, matrices, DenseStrides(matrices)),
                [&](int64_t offset) { stack.offsets.push_back(offset); });
  stack.zero_offsets.assign(stack.offsets.size(), 0);
  if (zero == nullptr) return stack;
  const absl::StatusOr<Shape> strides = ZeroPointStrides(*zero, matrices, per_row);
  if (!strides.ok()) return std::nullopt;
  const size_t row_axis = matrices.size() - 2;
  if ((*strides)[row_axis + (per_row ? 1 : 0)] != 0) return std::nullopt;
  stack.zero_step = (*strides)[row_axis + (per_row ? 0 : 1)];
  stack.zero_offsets.clear();
  ForEachOffset(shape.batch, BatchStrides(shape.batch, matrices, *strides),
                [&](int64_t offset) { stack.zero_offsets.push_back(offset); });
  return stack;
}

// The zero points of the rows of matrix i of the stack; one if all are equal.
std::vector<int32_t> RowZeros(const Tensor* zero, const IntegerStack& stack, size_t i,
                              int64_t rows) {
  if (zero == nullptr) return {};
  std::vector<int32_t> zeros(stack.zero_step == 0 ? 1 : rows);
  for (size_t row = 0; row < zeros.size(); ++row) {
    zeros[row] = ByteAt(*zero, stack.zero_offsets[i] + static_cast<int64_t>(row) * stack.zero_step);
  }
  return zeros;
}

// True if `zero` is one number, or one per column of one matrix.
bool IsPerColumn(const Tensor& zero, int64_t columns) {
  return zero.num_elements() == 1 ||
         (zero.num_elements() == columns && zero.rank() > 0 && zero.shape().back() == columns);
}

class MatMulIntegerKernel final : public Kernel {
 public:
  // `weight`: B, packed with its zero points, if they are constant and B is one matrix, else null.
  explicit MatMulIntegerKernel(std::shared_ptr<const Int8Panels> weight)
      : weight_(std::move(weight)) {}

  absl::string_view name() const override { return Int8GemmName(weight_.get()); }

  bool Accepts(const OpContext& context) const override {
    if (!CheckMatMulInteger(context).ok()) return false;
    const auto shape = ResolveMatMul(context.input(0).shape(), context.input(1).shape());
    return shape.ok() && StackOf(*shape, shape->a, OptionalInput(context, 2), true).has_value() &&
           StackOf(*shape, shape->b, OptionalInput(context, 3), false).has_value();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const MatMulShape shape,
                             ResolveMatMul(context.input(0).shape(), context.input(1).shape()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt32, shape.output));
    if (y->num_elements() == 0) return absl::OkStatus();
    const Tensor* const zero = OptionalInput(context, 2);
    const IntegerStack a = StackOf(shape, shape.a, zero, true).value_or(IntegerStack());
    const int64_t count = std::ssize(a.offsets);
    // One B and one zero point serve all rows of the stack: they are those of one matrix.
    const bool one = weight_ != nullptr && (zero == nullptr || zero->num_elements() == 1);
    const int64_t rows = one ? count * shape.m : shape.m;
    for (int64_t i = 0; i < (one ? 1 : count); ++i) {
      const std::vector<int32_t> zeros = RowZeros(zero, a, i, shape.m);
      const Int8Rows matrix = {&context.input(0), a.offsets[i], rows, shape.k, zeros};
      Int8Epilogue out;
      out.sums = y->mutable_data<int32_t>() + i * shape.m * shape.n;
      ATTNRUN_ASSIGN_OR_RETURN(const auto b, WeightOf(context, shape, i));
      Int8Gemm(matrix, *b, out);
    }
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const auto shape = ResolveMatMul(context.input(0).shape(), context.input(1).shape());
    if (!shape.ok()) return 0;
    return 2 * NumElements(shape->output).value_or(0) * shape->k;
  }

 private:
  // B of product i, packed with its zero points.
  absl::StatusOr<std::shared_ptr<const Int8Panels>> WeightOf(const OpContext& context,
                                                             const MatMulShape& shape,
                                                             int64_t i) const {
    if (weight_ != nullptr) return weight_;
    const Tensor* const zero = OptionalInput(context, 3);
    const IntegerStack stack = StackOf(shape, shape.b, zero, false).value_or(IntegerStack());
    Int8Matrix b = {&context.input(1), stack.offsets[i], shape.k, shape.n, nullptr};
    Tensor zeros;
    if (zero != nullptr) {
      const Shape extents = {stack.zero_step == 0 ? 1 : shape.n};
      zeros = zero->View(extents, {stack.zero_step}, stack.zero_offsets[i]);
      ATTNRUN_ASSIGN_OR_RETURN(zeros, zeros.Dense(context.allocator()));
      b.zero_points = &zeros;
    }
    return Int8Panels::Pack({b}, context.allocator());
  }

  const std::shared_ptr<const Int8Panels> weight_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MatMulInteger::MakeKernel(
    const KernelContext& context) const {
  std::shared_ptr<const Int8Panels> weight;
  const Tensor& b = context.constants[1];
  // A zero point that is not constant is undefined here.
  const bool has_zero = context.constants.size() > 3;
  const bool zero_fits =
      !has_zero || (context.constants[3].defined() && context.constants[3].type() == b.type() &&
                    b.rank() == 2 && IsPerColumn(context.constants[3], b.dim(1)));
  if (b.defined() && IsByte(b.type()) && b.rank() == 2 && zero_fits) {
    const Int8Matrix matrix = {&b, 0, b.dim(0), b.dim(1),
                               has_zero ? &context.constants[3] : nullptr};
    ATTNRUN_ASSIGN_OR_RETURN(weight, Int8Panels::PackShared({matrix}, context.packed_store));
  }
  return std::make_unique<MatMulIntegerKernel>(std::move(weight));
}

}  // namespace attnrun::ops
