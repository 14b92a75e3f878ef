// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "core/status.h"
#include "hwy/highway.h"
#include "ops/quantization/qdq/quantize.h"
#include "ops/quantization/qdq/quantize_integers.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void WidenRange(const float* x, size_t n, float* low, float* high) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto lows = hn::Set(d, *low);
  auto highs = hn::Set(d, *high);
  for (size_t i = 0; i < n; i += lanes) {
    // Lanes past the end are 0, which the range includes anyway.
    const auto v = n - i >= lanes ? hn::LoadU(d, x + i) : hn::LoadN(d, x + i, n - i);
    lows = hn::IfThenElse(hn::Lt(v, lows), v, lows);
    highs = hn::IfThenElse(hn::Gt(v, highs), v, highs);
  }
  *low = hn::ReduceMin(d, lows);
  *high = hn::ReduceMax(d, highs);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

constexpr int64_t kPiece = 32768;

// The least and the greatest of x and 0. The result depends neither on pieces nor on threads.
NumberRange FindRange(const float* x, int64_t n) {
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<float> lows(pieces, 0);
  std::vector<float> highs(pieces, 0);
  ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t count = std::min(kPiece, n - i * kPiece);
      HWY_NAMESPACE::WidenRange(x + i * kPiece, count, &lows[i], &highs[i]);
    }
  });
  NumberRange range{0, 0};
  for (const float low : lows) range.low = std::min<double>(range.low, low);
  for (const float high : highs) range.high = std::max<double>(range.high, high);
  return range;
}

class DynamicQuantizeKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "highway"; }
  bool Accepts(const OpContext& context) const override {
    return context.input(0).type() == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kUint8, x.shape()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor scale,
                             Tensor::Allocate(DataType::kFloat, {}, context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor zero,
                             Tensor::Allocate(DataType::kUint8, {}, context.allocator()));
    const IntegerScale by =
        QuantizeToOwnRange(x.data<float>(), x.num_elements(), y->mutable_data<uint8_t>());
    *scale.mutable_data<float>() = by.scale;
    *zero.mutable_data<uint8_t>() = static_cast<uint8_t>(by.zero_point);
    context.SetOutput(1, std::move(scale));
    context.SetOutput(2, std::move(zero));
    return absl::OkStatus();
  }
};

}  // namespace

IntegerScale QuantizeToOwnRange(const float* x, int64_t n, uint8_t* out) {
  const NumberRange range = FindRange(x, n);
  const auto width = static_cast<float>(range.high - range.low);
  IntegerScale by = {.scale = width == 0 ? 1 : width / 255};
  // The zero point is -min / scale, quantized with a zero point of 0.
  const auto minus_low = static_cast<float>(-range.low);
  uint8_t zero_point = 0;
  QuantizeIntegers(&minus_low, 1, by, &zero_point);
  by.zero_point = static_cast<float>(zero_point);
  ParallelFor(n, kPiece, [&](int64_t begin, int64_t end) {
    QuantizeIntegers(x + begin, end - begin, by, out + begin);
  });
  return by;
}

absl::StatusOr<std::unique_ptr<Kernel>> DynamicQuantizeLinear::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<DynamicQuantizeKernel>();
}

}  // namespace attnrun::ops
