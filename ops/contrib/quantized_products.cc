// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/quantized_products.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/composite/reference_steps.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/optional_input.h"
#include "ops/interface/type_set.h"
#include "ops/matmul/matmul.h"
#include "ops/quantization/quantize.h"

namespace attnrun::ops {
namespace {

constexpr TypeSet kBytes = {DataType::kInt8, DataType::kUint8};
constexpr TypeSet kScales = {DataType::kFloat, DataType::kFloat16};

// Undefined tensors are inputs left out.
struct Operands {
  Tensor a;
  Tensor b;
  Tensor a_scale;
  Tensor b_scale;
  Tensor a_zero_point;
  Tensor b_zero_point;
  Tensor bias;
};

absl::Status CheckOperand(absl::string_view name, const Tensor& operand, const Tensor& scale,
                          const Tensor& zero_point) {
  const bool fits = kBytes.Contains(operand.type()) && kScales.Contains(scale.type()) &&
                    (!zero_point.defined() || zero_point.type() == operand.type());
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", name, " and its zero point to be int8 or uint8 and its scale float or float16,",
      " but ", name, " is ", TypeAndShape(operand), ", its scale ", TypeAndShape(scale),
      " and its zero point ", zero_point.defined() ? TypeAndShape(zero_point) : "left out"));
}

// `columns` numbers, from a tensor that has one or `columns`; all `otherwise` if it is left out.
absl::StatusOr<std::vector<double>> ReadColumns(absl::string_view name, const Tensor& tensor,
                                                int64_t columns, double otherwise) {
  if (!tensor.defined()) return std::vector<double>(columns, otherwise);
  if (tensor.rank() > 1 || (tensor.num_elements() != 1 && tensor.num_elements() != columns)) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", name,
                                                   " to be a number or a row of ", columns,
                                                   ", but it is ", TypeAndShape(tensor)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> numbers, ToDoubles(tensor));
  if (numbers.size() == 1) numbers.resize(columns, numbers[0]);
  return numbers;
}

// Checks that the scales and the bias have one type.
absl::Status CheckFactors(const Operands& o) {
  const DataType type = o.b_scale.type();
  if (o.a_scale.type() == type && (!o.bias.defined() || o.bias.type() == type)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected a_scale, b_scale and bias of one type, but they are ",
                   TypeAndShape(o.a_scale), ", ", TypeAndShape(o.b_scale), " and ",
                   o.bias.defined() ? TypeAndShape(o.bias) : "left out"));
}

absl::Status Multiply(OpContext& context, const Operands& o) {
  ATTNRUN_RETURN_IF_ERROR(CheckOperand("A", o.a, o.a_scale, o.a_zero_point));
  ATTNRUN_RETURN_IF_ERROR(CheckOperand("B", o.b, o.b_scale, o.b_zero_point));
  ATTNRUN_RETURN_IF_ERROR(CheckFactors(o));
  ATTNRUN_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(o.a.shape(), o.b.shape()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> a, ToDoubles(o.a));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> b, ToDoubles(o.b));
  ATTNRUN_ASSIGN_OR_RETURN(const auto a_scale, ReadColumns("a_scale", o.a_scale, 1, 1));
  ATTNRUN_ASSIGN_OR_RETURN(const auto a_zero, ReadColumns("a_zero_point", o.a_zero_point, 1, 0));
  ATTNRUN_ASSIGN_OR_RETURN(const auto b_scale, ReadColumns("b_scale", o.b_scale, shape.n, 1));
  ATTNRUN_ASSIGN_OR_RETURN(const auto b_zero,
                           ReadColumns("b_zero_point", o.b_zero_point, shape.n, 0));
  ATTNRUN_ASSIGN_OR_RETURN(const auto bias, ReadColumns("bias", o.bias, shape.n, 0));
  std::vector<int64_t> b_offsets;
  ForEachOffset(shape.batch, BatchStrides(shape.batch, shape.b, DenseStrides(shape.b)),
                [&](int64_t offset) { b_offsets.push_back(offset); });
  std::vector<double> y;
  size_t matrix = 0;
  const auto multiply = [&](int64_t a_offset) {
    const int64_t b_offset = b_offsets[matrix++];
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < shape.k; ++k) {
          sum += (a[a_offset + i * shape.k + k] - a_zero[0]) *
                 (b[b_offset + k * shape.n + j] - b_zero[j]);
        }
        y.push_back(sum * a_scale[0] * b_scale[j] + bias[j]);
      }
    }
  };
  ForEachOffset(shape.batch, BatchStrides(shape.batch, shape.a, DenseStrides(shape.a)), multiply);
  return SetDoubles(context, 0, o.b_scale.type(), shape.output, y);
}

void InferProduct(InferContext& context, DataType type) {
  context.SetOutput(
      0, {type, InferMatMul(context.input(0).dims, context.input(1).dims), std::nullopt});
}

}  // namespace

absl::Status MatMulIntegerToFloat::Reference(OpContext& context) const {
  return Multiply(context, {InputOrUndefined(context, 0), InputOrUndefined(context, 1),
                            InputOrUndefined(context, 2), InputOrUndefined(context, 3),
                            InputOrUndefined(context, 4), InputOrUndefined(context, 5),
                            InputOrUndefined(context, 6)});
}

void MatMulIntegerToFloat::Infer(InferContext& context) const {
  InferProduct(context, context.input(3).type);
}

absl::Status DynamicQuantizeMatMul::Reference(OpContext& context) const {
  const Tensor a[] = {context.input(0)};
  Tensor quantized[3];
  OpContext quantize(a, absl::MakeSpan(quantized), context.allocator());
  ATTNRUN_RETURN_IF_ERROR(DynamicQuantizeLinear().Reference(quantize));
  return Multiply(context, {quantized[0], InputOrUndefined(context, 1), quantized[1],
                            InputOrUndefined(context, 2), quantized[2],
                            InputOrUndefined(context, 3), InputOrUndefined(context, 4)});
}

void DynamicQuantizeMatMul::Infer(InferContext& context) const {
  InferProduct(context, DataType::kFloat);
}

QGemm::QGemm(AttributeReader& attributes)
    : alpha_(attributes.Float("alpha", 1)),
      transpose_a_(attributes.Int("transA", 0) != 0),
      transpose_b_(attributes.Int("transB", 0) != 0) {}

absl::Status QGemm::Reference(OpContext& context) const {
  ReferenceSteps steps(context);
  const auto numbers = [&](int x, bool transposed) {
    const Tensor matrix = transposed ? steps.Op("Transpose", {steps.Input(x)}) : steps.Input(x);
    return steps.Op("DequantizeLinear", {matrix, steps.Input(x + 1), steps.Input(x + 2)});
  };
  // B's scale and zero point run along axis 1, DequantizeLinear's default.
  Tensor y = steps.Op("MatMul", {numbers(kA, transpose_a_), numbers(kB, transpose_b_)});
  if (context.has_input(kC)) {
    const Tensor scale = steps.Op("Mul", {steps.Input(kAScale), steps.Input(kBScale)});
    const Tensor c = steps.Cast(steps.Input(kC), DataType::kFloat);
    y = steps.Op("Add", {y, steps.Op("Mul", {c, scale})});
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor alpha, Tensor::Of<float>({}, {alpha_}));
  y = steps.Op("Mul", {y, alpha});
  if (!context.has_input(kYScale)) return steps.Give(y);
  return steps.Give(
      steps.Op("QuantizeLinear", {y, steps.Input(kYScale), steps.Input(kYZeroPoint)}));
}

void QGemm::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.has_input(kYZeroPoint) ? context.input(kYZeroPoint).type
           : context.has_input(kYScale)   ? DataType::kUint8
                                          : DataType::kFloat;
  const std::optional<Dims>& a = context.input(kA).dims;
  const std::optional<Dims>& b = context.input(kB).dims;
  const bool known = a.has_value() && b.has_value() && a->size() == 2 && b->size() == 2;
  if (known) y.dims = Dims{(*a)[transpose_a_ ? 1 : 0], (*b)[transpose_b_ ? 0 : 1]};
  context.SetOutput(0, std::move(y));
}

}  // namespace attnrun::ops
