// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/quantized_rows_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <cmath>
#include <cstring>

#include "hwy/highway.h"
#include "ops/attention/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// The largest magnitude of a row; NaN or infinite if a number is. Bits of magnitudes are in the
// order of the numbers, and NaN comes last.
float LargestMagnitude(const float* HWY_RESTRICT x, int64_t size) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> bits;
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  auto largest = hn::Zero(bits);
  int64_t i = 0;
  for (; i + kStep <= size; i += kStep) {
    largest = hn::Max(largest, hn::BitCast(bits, hn::Abs(hn::LoadU(d, x + i))));
  }
  if (i < size) {
    largest = hn::Max(largest, hn::BitCast(bits, hn::Abs(hn::LoadN(d, x + i, size - i))));
  }
  const int32_t most = hn::ReduceMax(bits, largest);
  float magnitude;
  std::memcpy(&magnitude, &most, sizeof(magnitude));
  return magnitude;
}

void QuantizeRow(const float* HWY_RESTRICT x, int64_t size, int8_t* HWY_RESTRICT out) {
  const FloatTag d;
  const hn::Rebind<int8_t, FloatTag> bytes;
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  const float scale = LargestMagnitude(x, size) / 127;
  std::memcpy(out + size, &scale, sizeof(scale));
  if (!(scale > 0) || !std::isfinite(scale)) {
    std::memset(out, 0, size);
    return;
  }
  const FloatVec by = hn::Set(d, scale);
  const FloatVec most = hn::Set(d, 127.0F);
  const auto quantized = [&](FloatVec v) HWY_ATTR {
    const FloatVec q = hn::Clamp(hn::Div(v, by), hn::Neg(most), most);
    return hn::DemoteTo(bytes, hn::NearestInt(q));
  };
  int64_t i = 0;
  for (; i + kStep <= size; i += kStep) {
    hn::StoreU(quantized(hn::LoadU(d, x + i)), bytes, out + i);
  }
  if (i < size) hn::StoreN(quantized(hn::LoadN(d, x + i, size - i)), bytes, out + i, size - i);
}

void DequantizeRow(const int8_t* row, int64_t size, float* out) {
  WidenRows({row, size, size, NarrowForm::kScaledBytes}, 1, {0, size}, out);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/parallel.h"
#include "core/status.h"
#include "ops/attention/quantized_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(QuantizeRow);
HWY_EXPORT(DequantizeRow);

constexpr int64_t kElementsPerPiece = 16384;

// Calls body(row of x, row of y) for all rows, in parallel.
template <typename From, typename To, typename Body>
void ForEachRow(const Tensor& x, Tensor& y, Body body) {
  const int64_t from = x.shape().back();
  const int64_t to = y.shape().back();
  const int64_t rows = to == 0 ? 0 : y.num_elements() / to;
  ParallelFor(rows, kElementsPerPiece / (to + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      body(x.data<From>() + i * from, y.mutable_data<To>() + i * to);
    }
  });
}

class QuantizeRowsKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "highway"; }
  bool Accepts(const OpContext& context) const override {
    return QuantizeRows::Check(context.input(0)).ok();
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    const int64_t size = x.shape().back();
    Shape shape = x.shape();
    shape.back() += kScaleBytes;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt8, shape));
    ForEachRow<float, int8_t>(x, *y, [size](const float* row, int8_t* out) {
      HWY_DYNAMIC_DISPATCH(QuantizeRow)(row, size, out);
    });
    return absl::OkStatus();
  }
};

class DequantizeRowsKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "highway"; }
  bool Accepts(const OpContext& context) const override {
    return DequantizeRows::Check(context.input(0)).ok();
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    Shape shape = x.shape();
    shape.back() -= kScaleBytes;
    const int64_t size = shape.back();
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kFloat, shape));
    ForEachRow<int8_t, float>(x, *y, [size](const int8_t* row, float* out) {
      HWY_DYNAMIC_DISPATCH(DequantizeRow)(row, size, out);
    });
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> QuantizeRows::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<QuantizeRowsKernel>();
}

absl::StatusOr<std::unique_ptr<Kernel>> DequantizeRows::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<DequantizeRowsKernel>();
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
