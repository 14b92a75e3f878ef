// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_QDQ_QUANTIZE_H_
#define ATTNRUN_OPS_QUANTIZATION_QDQ_QUANTIZE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {

// ONNX QuantizeLinear-10 to -28: y = saturate(round(x / scale) + zero_point), halves to even, for
// integers; for the 8- and 4-bit floats y is x / scale + zero_point, rounded to the type. x is
// float, float16, bfloat16 or int32. Granularity says which elements share scale and zero_point.
// The operands of the division and its result are rounded to `precision`, else to the type of
// scale. The output has the type of zero_point, else `output_dtype`, else uint8. NaN becomes the
// lowest integer.
class QuantizeLinear final : public Op {
 public:
  explicit QuantizeLinear(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
  int64_t block_size_;
  bool saturate_;
  // 0 if not given; may be an invalid element type.
  int64_t output_type_;
  int64_t precision_;
};

// ONNX DequantizeLinear-10 to -28: y = (x - zero_point) * scale, in the type of scale or
// `output_dtype`: float, float16 or bfloat16.
class DequantizeLinear final : public Op {
 public:
  explicit DequantizeLinear(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
  int64_t block_size_;
  int64_t output_type_;
};

// ONNX DynamicQuantizeLinear-11: quantizes x (float) to uint8 with a scale and zero point that fit
// the range of x and 0: scale = (max - min) / 255, zero_point = round(saturate(-min / scale)), y =
// saturate(round(x / scale) + zero_point). The scale is 1 if the range is empty, as in ONNX
// Runtime; ONNX's formula would divide by 0. NaN does not count in the range.
class DynamicQuantizeLinear final : public Op {
 public:
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

// A range of numbers; RangeOf returns that of an integer type.
struct NumberRange {
  double low;
  double high;
};
NumberRange RangeOf(DataType type);

// The types that QuantizeLinear writes and DequantizeLinear, which also takes int32, reads.
inline constexpr TypeSet kQuantizedTypes =
    kFloat8s | TypeSet{DataType::kUint8, DataType::kInt8,  DataType::kUint16,
                       DataType::kInt16, DataType::kUint4, DataType::kInt4,
                       DataType::kUint2, DataType::kInt2,  DataType::kFloat4E2M1};
// The types that DequantizeLinear writes.
inline constexpr TypeSet kDequantizedTypes = {DataType::kFloat, DataType::kFloat16,
                                              DataType::kBfloat16};

// The element type with the number `number`, the value of attribute `name`; `otherwise` if it is 0;
// kInvalidArgument if it is not `allowed`.
absl::StatusOr<DataType> TypeAttribute(absl::string_view name, int64_t number, DataType otherwise,
                                       TypeSet allowed);

// The type of QuantizeLinear's output. kInvalidArgument if the zero point has another type.
absl::StatusOr<DataType> QuantizedType(const OpContext& context, int64_t output_dtype);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_QDQ_QUANTIZE_H_
