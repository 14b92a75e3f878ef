// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/qdq/quantize.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/elementwise/infer.h"

namespace attnrun::ops {

absl::StatusOr<DataType> TypeAttribute(absl::string_view name, int64_t number, DataType otherwise,
                                       TypeSet allowed) {
  const auto type = static_cast<DataType>(number);
  if (number == 0) return otherwise;
  if (number == static_cast<int32_t>(number) && IsValid(type) && allowed.Contains(type)) {
    return type;
  }
  return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' must be one of ",
                                                 allowed.ToString(), ", but is ", number));
}

absl::StatusOr<DataType> QuantizedType(const OpContext& context, int64_t output_dtype) {
  const bool given = context.has_input(2);
  if (given) ATTNRUN_RETURN_IF_ERROR(CheckType(context, 2, kQuantizedTypes));
  const DataType otherwise = given ? context.input(2).type() : DataType::kUint8;
  ATTNRUN_ASSIGN_OR_RETURN(const DataType type,
                           TypeAttribute("output_dtype", output_dtype, otherwise, kQuantizedTypes));
  if (type == otherwise || !given) return type;
  return absl::InvalidArgumentError(
      absl::StrCat("output_dtype is ", Name(type), ", but the zero point is ", Name(otherwise)));
}

NumberRange RangeOf(DataType type) {
  const double size = static_cast<double>(int64_t{1} << BitWidth(type));
  if (IsSignedInteger(type)) return {-size / 2, size / 2 - 1};
  return {0, size - 1};
}

QuantizeLinear::QuantizeLinear(AttributeReader& attributes)
    : axis_(attributes.version() >= 13 ? attributes.Int("axis", 1) : 1),
      block_size_(attributes.version() >= 21 ? attributes.Int("block_size", 0) : 0),
      saturate_(attributes.version() < 19 || attributes.Int("saturate", 1) != 0),
      output_type_(attributes.version() >= 21 ? attributes.Int("output_dtype", 0) : 0),
      precision_(attributes.version() >= 23 ? attributes.Int("precision", 0) : 0) {}

void QuantizeLinear::Infer(InferContext& context) const {
  DataType type = DataType::kUint8;
  if (context.has_input(2)) {
    type = context.input(2).type;
  } else if (output_type_ != 0) {
    type = TypeAttribute("output_dtype", output_type_, type, kQuantizedTypes)
               .value_or(DataType::kUndefined);
  }
  InferSameShape(context, type);
}

DequantizeLinear::DequantizeLinear(AttributeReader& attributes)
    : axis_(attributes.version() >= 13 ? attributes.Int("axis", 1) : 1),
      block_size_(attributes.version() >= 21 ? attributes.Int("block_size", 0) : 0),
      output_type_(attributes.version() >= 23 ? attributes.Int("output_dtype", 0) : 0) {}

void DequantizeLinear::Infer(InferContext& context) const {
  // A scale of float8e8m0, powers of two, does not determine the output type.
  const DataType scale = context.input(1).type;
  const DataType otherwise = scale == DataType::kFloat8E8M0 ? DataType::kUndefined : scale;
  InferSameShape(context, TypeAttribute("output_dtype", output_type_, otherwise, kDequantizedTypes)
                              .value_or(DataType::kUndefined));
}

void DynamicQuantizeLinear::Infer(InferContext& context) const {
  InferSameShape(context, DataType::kUint8);
  const std::vector<SymInt> scalar;
  context.SetOutput(1, {DataType::kFloat, scalar, std::nullopt});
  context.SetOutput(2, {DataType::kUint8, scalar, std::nullopt});
}

}  // namespace attnrun::ops
