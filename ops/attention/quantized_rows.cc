// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/quantized_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

constexpr float kLargest = 127;

Shape WithRowOf(const Tensor& x, int64_t size) {
  Shape shape = x.shape();
  shape.back() = size;
  return shape;
}

// The largest magnitude; NaN or infinite if a number is.
float LargestOf(const float* x, int64_t size) {
  float largest = 0;
  for (int64_t i = 0; i < size; ++i) {
    const float magnitude = std::fabs(x[i]);
    if (std::isnan(magnitude)) return magnitude;
    largest = std::max(largest, magnitude);
  }
  return largest;
}

// Number i of a row of bytes, without its scale.
float NumberOf(const uint8_t* row, int64_t i, NarrowForm form) {
  if (form != NarrowForm::kPairs) return static_cast<float>(static_cast<int8_t>(row[i]));
  const int pair = row[i / 2];
  return static_cast<float>((i % 2 == 0 ? pair & 15 : pair >> 4) - 8);
}

void InferRow(InferContext& context, DataType type, int64_t added) {
  Dims dims = context.input(0).dims.value_or(Dims());
  if (dims.empty()) return;
  dims.back() = dims.back() + SymInt(added);
  context.SetOutput(0, {type, std::move(dims), std::nullopt});
}

}  // namespace

absl::Status QuantizeRows::Check(const Tensor& x) {
  if (x.type() == DataType::kFloat && x.rank() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected x to be float [..., H], but it is ", TypeAndShape(x)));
}

absl::Status QuantizeRows::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_RETURN_IF_ERROR(Check(x));
  const int64_t size = x.shape().back();
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor * y, context.AllocateOutput(0, DataType::kInt8, WithRowOf(x, size + kScaleBytes)));
  const auto* row = x.data<float>();
  for (auto* out = y->mutable_data<int8_t>(); out != y->data<int8_t>() + y->num_elements();
       row += size, out += size + kScaleBytes) {
    const float scale = LargestOf(row, size) / kLargest;
    const bool has_numbers = scale > 0 && std::isfinite(scale);
    for (int64_t i = 0; i < size; ++i) {
      const float q = has_numbers ? std::nearbyint(row[i] / scale) : 0;
      out[i] = static_cast<int8_t>(std::clamp(q, -kLargest, kLargest));
    }
    std::memcpy(out + size, &scale, sizeof(scale));
  }
  return absl::OkStatus();
}

void QuantizeRows::Infer(InferContext& context) const {
  InferRow(context, DataType::kInt8, kScaleBytes);
}

void QuantizeRows::Axes(AxesContext& context) const { AddLeadingAxes(context); }

absl::Status DequantizeRows::Check(const Tensor& x) {
  if (x.type() == DataType::kInt8 && x.rank() > 0 && x.shape().back() >= kScaleBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("expected x to be int8 [..., H + ", kScaleBytes,
                                                 "], but it is ", TypeAndShape(x)));
}

absl::Status CheckRows(const Tensor& x, NarrowForm form) {
  if (form == NarrowForm::kScaledBytes) return DequantizeRows::Check(x);
  if (x.rank() > 0 && x.shape().back() <= INT64_MAX / 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected rows, but found ", TypeAndShape(x)));
}

absl::StatusOr<Tensor> RowsAsFloats(const Tensor& x, NarrowForm form, Allocator& allocator) {
  ATTNRUN_RETURN_IF_ERROR(CheckRows(x, form));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, x.Dense(allocator));
  const int64_t size = NumbersOfRow(x.shape().back(), form);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           Tensor::Allocate(DataType::kFloat, WithRowOf(x, size), allocator));
  const auto* row = static_cast<const uint8_t*>(dense.raw());
  for (auto* out = y.mutable_data<float>(); out != y.data<float>() + y.num_elements();
       row += x.shape().back(), out += size) {
    for (int64_t i = 0; i < size; ++i) out[i] = NumberOf(row, i, form);
    if (form != NarrowForm::kScaledBytes) continue;
    float scale;
    std::memcpy(&scale, row + size, sizeof(scale));
    for (int64_t i = 0; i < size; ++i) out[i] *= scale;
  }
  return y;
}

absl::Status DequantizeRows::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y, RowsAsFloats(context.input(0), NarrowForm::kScaledBytes, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

void DequantizeRows::Infer(InferContext& context) const {
  InferRow(context, DataType::kFloat, -kScaleBytes);
}

void DequantizeRows::Axes(AxesContext& context) const { AddLeadingAxes(context); }

}  // namespace attnrun::ops
