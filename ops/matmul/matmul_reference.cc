// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/interface/optional_input.h"
#include "ops/matmul/matmul.h"

namespace attnrun::ops {
namespace {

// Read and Write convert elements to and from the type of the computation: double, or integers
// modulo 2^64, which the element type truncates.
absl::StatusOr<std::vector<double>> Read(const Tensor& tensor, double /*as*/) {
  return ToDoubles(tensor);
}
absl::StatusOr<std::vector<uint64_t>> Read(const Tensor& tensor, uint64_t /*as*/) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(tensor));
  return std::vector<uint64_t>(values.begin(), values.end());
}
absl::StatusOr<Tensor> Write(DataType type, const Tensor& result, double /*from*/,
                             Allocator& allocator) {
  return FromDoubles(type, result.shape(),
                     absl::MakeSpan(result.data<double>(), result.num_elements()), allocator);
}
absl::StatusOr<Tensor> Write(DataType type, const Tensor& result, uint64_t /*from*/,
                             Allocator& allocator) {
  return FromInts(type, result.shape(),
                  absl::MakeSpan(result.data<int64_t>(), result.num_elements()), allocator);
}

// One operand. Element (i, j) of its matrix at `offset` is values[offset + i * row_stride + j *
// column_stride].
template <typename T>
struct Operand {
  std::vector<T> values;
  int64_t row_stride;
  int64_t column_stride;
};

// A·B for every matrix of the batch.
template <typename T>
absl::StatusOr<Tensor> Multiply(const MatMulShape& shape, const Operand<T>& a, const Operand<T>& b,
                                Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DataTypeOf<T>(), shape.output, allocator));
  if (y.num_elements() == 0) return y;
  if (shape.k == 0) {
    std::fill_n(y.mutable_data<T>(), y.num_elements(), T{0});
    return y;
  }
  const Shape a_strides = BatchStrides(shape.batch, shape.a, DenseStrides(shape.a));
  const Shape b_strides = BatchStrides(shape.batch, shape.b, DenseStrides(shape.b));
  std::vector<int64_t> b_offsets;
  ForEachOffset(shape.batch, b_strides, [&](int64_t offset) { b_offsets.push_back(offset); });
  auto* out = y.mutable_data<T>();
  size_t matrix = 0;
  ForEachOffset(shape.batch, a_strides, [&](int64_t a_offset) {
    const T* x = a.values.data() + a_offset;
    const T* w = b.values.data() + b_offsets[matrix++];
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < shape.k; ++k) {
          sum +=
              x[i * a.row_stride + k * a.column_stride] * w[k * b.row_stride + j * b.column_stride];
        }
        *out++ = sum;
      }
    }
  });
  return y;
}

// True for the element types of MatMul and Gemm.
bool IsMatMulType(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint32:
    case DataType::kUint64:
      return true;
    default:
      return false;
  }
}

absl::Status CheckTypes(const Tensor& a, const Tensor& b) {
  if (a.type() == b.type() && IsMatMulType(a.type())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected A and B of one type, a float or a 32- or 64-bit integer, but A is ",
                   TypeAndShape(a), " and B is ", TypeAndShape(b)));
}

template <typename T>
absl::StatusOr<Tensor> ReferenceMatMul(const Tensor& a, const Tensor& b, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(a.shape(), b.shape()));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<T> x, Read(a, T()));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<T> w, Read(b, T()));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor y, Multiply<T>(shape, {std::move(x), shape.k, 1},
                                                       {std::move(w), shape.n, 1}, allocator));
  return Write(a.type(), y, T(), allocator);
}

// Reads a matrix as an operand.
template <typename T>
absl::StatusOr<Operand<T>> ReadMatrix(const Tensor& tensor, bool transposed) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<T> values, Read(tensor, T()));
  const int64_t columns = tensor.dim(1);
  return Operand<T>{std::move(values), transposed ? 1 : columns, transposed ? columns : 1};
}

template <typename T>
absl::StatusOr<Tensor> ReferenceGemm(const GemmAttributes& attributes, const Tensor& a,
                                     const Tensor& b, const Tensor* c, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const GemmShape gemm, ResolveGemm(attributes, a, b, c));
  const Shape output = {gemm.m, gemm.n};
  ATTNRUN_ASSIGN_OR_RETURN(const Operand<T> x, ReadMatrix<T>(a, attributes.transpose_a));
  ATTNRUN_ASSIGN_OR_RETURN(const Operand<T> w, ReadMatrix<T>(b, attributes.transpose_b));
  const MatMulShape shape = {.m = gemm.m,
                             .k = gemm.k,
                             .n = gemm.n,
                             .batch = {},
                             .a = {gemm.m, gemm.k},
                             .b = {gemm.k, gemm.n},
                             .output = output};
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Multiply<T>(shape, x, w, allocator));
  auto* out = y.mutable_data<T>();
  for (int64_t i = 0; i < y.num_elements(); ++i) out[i] *= static_cast<T>(attributes.alpha);
  if (c != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(c->shape(), output));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<T> addend, Read(*c, T()));
    ForEachOffset(output, strides, [&](int64_t offset) {
      *out++ += static_cast<T>(attributes.beta) * addend[offset];
    });
  }
  return Write(a.type(), y, T(), allocator);
}

// The elements of `stack` less their zero points; `zero` may be null.
absl::StatusOr<std::vector<uint64_t>> Centred(const Tensor& tensor, const Shape& stack,
                                              const Tensor* zero, bool per_row) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<uint64_t> values, Read(tensor, uint64_t()));
  if (zero == nullptr) return values;
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, ZeroPointStrides(*zero, stack, per_row));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<uint64_t> zeros, Read(*zero, uint64_t()));
  size_t i = 0;
  ForEachOffset(stack, strides, [&](int64_t offset) { values[i++] -= zeros[offset]; });
  return values;
}

}  // namespace

absl::Status MatMul::Reference(OpContext& context) const {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(a, b));
  const auto multiply =
      IsFloatingPoint(a.type()) ? ReferenceMatMul<double> : ReferenceMatMul<uint64_t>;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, multiply(a, b, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status GemmOp::Reference(OpContext& context) const {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const Tensor* c = context.has_input(2) ? &context.input(2) : nullptr;
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(a, b));
  // Integers stay exact if alpha and beta are 1.
  const bool integers =
      !IsFloatingPoint(a.type()) && attributes_.alpha == 1 && attributes_.beta == 1;
  const auto multiply = integers ? ReferenceGemm<uint64_t> : ReferenceGemm<double>;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, multiply(attributes_, a, b, c, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status MatMulInteger::Reference(OpContext& context) const {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  ATTNRUN_RETURN_IF_ERROR(CheckMatMulInteger(context));
  ATTNRUN_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(a.shape(), b.shape()));
  const Tensor* a_zero = OptionalInput(context, 2);
  const Tensor* b_zero = OptionalInput(context, 3);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<uint64_t> x, Centred(a, shape.a, a_zero, true));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<uint64_t> w, Centred(b, shape.b, b_zero, false));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor sums,
                           Multiply<uint64_t>(shape, {std::move(x), shape.k, 1},
                                              {std::move(w), shape.n, 1}, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           Write(DataType::kInt32, sums, uint64_t(), context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
