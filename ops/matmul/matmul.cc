// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/matmul.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/interface/families.h"
#include "ops/matmul/determinant.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

absl::Status Mismatch(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                      absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("A", ToString(a), " and B", ToString(b), " cannot be multiplied: ", why));
}

}  // namespace

absl::StatusOr<MatMulShape> ResolveMatMul(absl::Span<const int64_t> a,
                                          absl::Span<const int64_t> b) {
  if (a.empty() || b.empty()) return Mismatch(a, b, "expected at least one axis each");
  MatMulShape shape;
  shape.a.assign(a.begin(), a.end());
  shape.b.assign(b.begin(), b.end());
  if (a.size() == 1) shape.a.insert(shape.a.begin(), 1);
  if (b.size() == 1) shape.b.push_back(1);
  const size_t a_axes = shape.a.size() - 2;
  const size_t b_axes = shape.b.size() - 2;
  shape.m = shape.a[a_axes];
  shape.k = shape.a[a_axes + 1];
  shape.n = shape.b[b_axes + 1];
  if (shape.k != shape.b[b_axes]) {
    return Mismatch(a, b, absl::StrCat("K is ", shape.k, " in A, but ", shape.b[b_axes], " in B"));
  }
  absl::StatusOr<Shape> batch =
      BroadcastShapes(absl::MakeSpan(shape.a).first(a_axes), absl::MakeSpan(shape.b).first(b_axes));
  if (!batch.ok()) return Mismatch(a, b, batch.status().message());
  shape.batch = *std::move(batch);
  shape.output = shape.batch;
  if (a.size() > 1) shape.output.push_back(shape.m);
  if (b.size() > 1) shape.output.push_back(shape.n);
  return shape;
}

Shape BatchStrides(absl::Span<const int64_t> batch, absl::Span<const int64_t> stack,
                   absl::Span<const int64_t> strides) {
  Shape result(batch.size(), 0);
  const size_t axes = stack.size() - 2;
  for (size_t axis = 0; axis < axes; ++axis) {
    if (stack[axis] != 1) result[batch.size() - axes + axis] = strides[axis];
  }
  return result;
}

GemmOp::GemmOp(AttributeReader& attributes)
    : attributes_{.alpha = attributes.Float("alpha", 1),
                  .beta = attributes.Float("beta", 1),
                  .transpose_a = attributes.Int("transA", 0) != 0,
                  .transpose_b = attributes.Int("transB", 0) != 0} {
  attributes.ExpectInputs(attributes.version() < 11 ? 3 : 2, 3);
}

absl::StatusOr<GemmShape> ResolveGemm(const GemmAttributes& attributes, const Tensor& a,
                                      const Tensor& b, const Tensor* c) {
  if (a.rank() != 2 || b.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("expected matrices, but A is ", TypeAndShape(a),
                                                   " and B is ", TypeAndShape(b)));
  }
  if (a.type() != b.type() || (c != nullptr && c->type() != a.type())) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one element type, but A is ", TypeAndShape(a), ", B is ",
                     TypeAndShape(b), c == nullptr ? "" : ", C is " + TypeAndShape(*c)));
  }
  const GemmShape shape = {.m = a.dim(attributes.transpose_a ? 1 : 0),
                           .k = a.dim(attributes.transpose_a ? 0 : 1),
                           .n = b.dim(attributes.transpose_b ? 0 : 1)};
  const int64_t b_k = b.dim(attributes.transpose_b ? 1 : 0);
  if (shape.k != b_k) {
    return Mismatch(a.shape(), b.shape(),
                    absl::StrCat("K is ", shape.k, " in A (transA ", attributes.transpose_a,
                                 "), but ", b_k, " in B (transB ", attributes.transpose_b, ")"));
  }
  if (c == nullptr) return shape;
  const absl::StatusOr<Shape> with_c = BroadcastShapes({shape.m, shape.n}, c->shape());
  if (!with_c.ok() || *with_c != Shape{shape.m, shape.n}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "C", ToString(c->shape()), " does not broadcast to [", shape.m, ",", shape.n, "]"));
  }
  return shape;
}

absl::StatusOr<Shape> ZeroPointStrides(const Tensor& zero_point, const Shape& stack, bool per_row) {
  Shape shape = zero_point.shape();
  if (zero_point.num_elements() == 1) return Shape(stack.size(), 0);
  if (per_row && shape.size() == 1) shape.push_back(1);
  absl::StatusOr<Shape> strides = BroadcastStrides(shape, stack);
  if (strides.ok()) return strides;
  return absl::InvalidArgumentError(
      absl::StrCat("expected one zero point per tensor or per ", per_row ? "row" : "column",
                   " of an operand of shape ", ToString(stack), ", but found shape ",
                   ToString(zero_point.shape())));
}

absl::Status CheckMatMulInteger(const OpContext& context) {
  for (const int operand : {0, 1}) {
    const DataType type = context.input(operand).type();
    const int zero_point = operand + 2;
    if (IsByte(type) &&
        (!context.has_input(zero_point) || context.input(zero_point).type() == type)) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("expected int8 or uint8 operands with zero points of their types, but input ",
                     operand, " is ", TypeAndShape(context.input(operand)),
                     context.has_input(zero_point)
                         ? " with zero point " + TypeAndShape(context.input(zero_point))
                         : ""));
  }
  return absl::OkStatus();
}

void RegisterMatMul(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "MatMul",
                     .since = {1, 9, 13},
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .make = Make<MatMul>,
                     .traits = kMultiplies | kTakesAnyRank});
  registry.Register({.domain = "",
                     .name = "Gemm",
                     .since = {7, 9, 11, 13},
                     .inputs = {2, 3},
                     .outputs = {1, 1},
                     .make = Make<GemmOp>,
                     .traits = kMultiplies});
  registry.Register({.domain = "",
                     .name = "MatMulInteger",
                     .since = {10},
                     .inputs = {2, 4},
                     .outputs = {1, 1},
                     .make = Make<MatMulInteger>,
                     .traits = kMultiplies});
  registry.Register({"", "Det", {11, 22}, {1, 1}, {1, 1}, Make<Determinant>});
}

}  // namespace attnrun::ops
