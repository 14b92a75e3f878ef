// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_QUANTIZED_ROWS_H_
#define ATTNRUN_OPS_ATTENTION_QUANTIZED_ROWS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "ops/attention/narrow_form.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

// Rows of 8 bits, in which a cache may hold keys and values: H numbers in [-127, 127] and behind
// them the bytes of a float, their scale.
namespace attnrun::ops {

// The bytes of the scale behind the numbers of a row.
inline constexpr int64_t kScaleBytes = sizeof(float);

// attnrun.QuantizeRows-1, written where SessionOptions::cache_type is int8: x float [..., H] ->
// int8 [..., H + 4]. scale = max|x| / 127 of a row, q = x / scale rounded to nearest, ties to even.
// A row of zeros has the scale 0; one with a number that is not finite gives NaN everywhere.
class QuantizeRows final : public Op {
 public:
  explicit QuantizeRows(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // kInvalidArgument unless x is float and has a row.
  static absl::Status Check(const Tensor& x);
};

// attnrun.DequantizeRows-1: x int8 [..., H + 4] -> scale * q, float [..., H].
class DequantizeRows final : public Op {
 public:
  explicit DequantizeRows(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // kInvalidArgument unless x is int8 and its rows have a scale.
  static absl::Status Check(const Tensor& x);
};

// kInvalidArgument unless x, whose elements are bytes, has rows of this form.
absl::Status CheckRows(const Tensor& x, NarrowForm form);
// Their numbers, by the reference: float [..., H].
absl::StatusOr<Tensor> RowsAsFloats(const Tensor& x, NarrowForm form, Allocator& allocator);

// The extent H of rows of bytes that have `elements` of them; Extent may be symbolic.
template <typename Extent>
Extent NumbersOfRow(const Extent& elements, NarrowForm form) {
  if (form == NarrowForm::kScaledBytes) return elements - Extent(kScaleBytes);
  return form == NarrowForm::kPairs ? elements + elements : elements;
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_QUANTIZED_ROWS_H_
