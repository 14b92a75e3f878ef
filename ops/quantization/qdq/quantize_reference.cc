// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/elements.h"
#include "core/minifloat.h"
#include "core/status.h"
#include "ops/quantization/qdq/granularity.h"
#include "ops/quantization/qdq/quantize.h"

namespace attnrun::ops {
namespace {

constexpr TypeSet kInputs = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16,
                             DataType::kInt32};
constexpr TypeSet kScales = kInputs | TypeSet{DataType::kFloat8E8M0};

double RoundTo(DataType precision, double value) {
  switch (precision) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return DecodeFloat(precision, EncodeFloat(precision, value));
    // Quotients of integers, or by powers of two, are not rounded.
    case DataType::kInt32:
      return value;
    default:
      return static_cast<float>(value);
  }
}

double Saturate(double value, NumberRange range) {
  // NaN compares false.
  return value > range.low ? std::min(value, range.high) : range.low;
}

const Tensor* ZeroPoint(const OpContext& context) {
  return context.has_input(2) ? &context.input(2) : nullptr;
}

absl::StatusOr<std::vector<double>> ZeroPoints(const OpContext& context, size_t scales) {
  if (!context.has_input(2)) return std::vector<double>(scales, 0);
  return ToDoubles(context.input(2));
}

absl::StatusOr<Tensor> EncodeFloats(DataType type, const Shape& shape,
                                    const std::vector<double>& values, bool saturate,
                                    Allocator& allocator) {
  // The 4-bit float has no infinity and no NaN: it always saturates.
  if (BitWidth(type) < 8) return FromDoubles(type, shape, values, allocator);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(type, shape, allocator));
  auto* out = y.mutable_data<uint8_t>();
  for (const double value : values) {
    *out++ = static_cast<uint8_t>(EncodeFloat(type, value, saturate));
  }
  return y;
}

}  // namespace

absl::Status QuantizeLinear::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kInputs));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 1, kScales));
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  ATTNRUN_ASSIGN_OR_RETURN(const DataType type, QuantizedType(context, output_type_));
  ATTNRUN_ASSIGN_OR_RETURN(const DataType precision,
                           TypeAttribute("precision", precision_, scale.type(), kDequantizedTypes));
  ATTNRUN_ASSIGN_OR_RETURN(const Granularity granularity,
                           ResolveGranularity(x, scale, ZeroPoint(context), axis_, block_size_));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scales, ToDoubles(scale));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> zeros, ZeroPoints(context, scales.size()));
  const bool to_integer = IsInteger(type);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t k = granularity.ScaleIndex(static_cast<int64_t>(i));
    const double quotient =
        RoundTo(precision, RoundTo(precision, values[i]) / RoundTo(precision, scales[k]));
    values[i] = to_integer ? Saturate(std::nearbyint(quotient) + zeros[k], RangeOf(type))
                           : quotient + zeros[k];
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y, to_integer ? FromDoubles(type, x.shape(), values, context.allocator())
                           : EncodeFloats(type, x.shape(), values, saturate_, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status DequantizeLinear::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kQuantizedTypes | TypeSet{DataType::kInt32}));
  ATTNRUN_RETURN_IF_ERROR(
      CheckType(context, 1, kDequantizedTypes | TypeSet{DataType::kFloat8E8M0}));
  if (context.has_input(2)) ATTNRUN_RETURN_IF_ERROR(CheckSameType(context, 0, 2));
  ATTNRUN_ASSIGN_OR_RETURN(const DataType type, TypeAttribute("output_dtype", output_type_,
                                                              scale.type(), kDequantizedTypes));
  if (type == DataType::kFloat8E8M0) {
    return absl::InvalidArgumentError("a scale of float8e8m0 needs an output_dtype");
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Granularity granularity,
                           ResolveGranularity(x, scale, ZeroPoint(context), axis_, block_size_));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scales, ToDoubles(scale));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> zeros, ZeroPoints(context, scales.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t k = granularity.ScaleIndex(static_cast<int64_t>(i));
    values[i] = (values[i] - zeros[k]) * scales[k];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, FromDoubles(type, x.shape(), values, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status DynamicQuantizeLinear::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, {DataType::kFloat}));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  double low = 0;
  double high = 0;
  for (const double value : values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  // Every step is rounded to float, as in the standard's formula on float tensors.
  const NumberRange range = RangeOf(DataType::kUint8);
  const float width = static_cast<float>(high - low);
  const float scale = width == 0 ? 1 : width / static_cast<float>(range.high - range.low);
  const double zero = std::nearbyint(Saturate(range.low - static_cast<float>(low / scale), range));
  for (double& value : values) {
    value = Saturate(std::nearbyint(static_cast<float>(value / scale)) + zero, range);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           FromDoubles(DataType::kUint8, x.shape(), values, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor scales,
                           FromDoubles(DataType::kFloat, {}, {scale}, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor zeros,
                           FromDoubles(DataType::kUint8, {}, {zero}, context.allocator()));
  context.SetOutput(0, std::move(y));
  context.SetOutput(1, std::move(scales));
  context.SetOutput(2, std::move(zeros));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
