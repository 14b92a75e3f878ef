// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax/softmax_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <cmath>

#include "hwy/highway.h"
#include "ops/tensors/exp-inl.h"
#include "ops/tensors/store_up_to-inl.h"
#include "ops/tensors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

float PeakOf(const float* HWY_RESTRICT x, size_t n) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  FloatVec peaks = hn::Set(d, x[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) peaks = hn::Max(peaks, hn::LoadU(d, x + i));
  float peak = hn::ReduceMax(d, peaks);
  for (; i < n; ++i) peak = HWY_MAX(peak, x[i]);
  return peak;
}

// SoftmaxRow for a row that fits into one vector.
HWY_INLINE void SoftmaxShortRow(const float* x, size_t n, bool logarithm, float* y) {
  const FloatTag d;
  const FloatVec v = hn::LoadNOr(hn::Set(d, x[0]), d, x, n);
  const FloatVec shifted = hn::Sub(v, hn::Set(d, hn::ReduceMax(d, v)));
  const FloatVec e = hn::IfThenElseZero(hn::FirstN(d, n), ExpBelow88(d, shifted));
  const float sum = hn::ReduceSum(d, e);
  const FloatVec result =
      logarithm ? hn::Sub(shifted, hn::Set(d, std::log(sum))) : hn::Mul(e, hn::Set(d, 1.0F / sum));
  StoreUpTo(result, d, y, n);
}

// y = softmax(x), or its logarithm, over one row of n > 0 floats; y may be x. A NaN in x makes the
// sum NaN, and with it the whole row.
void SoftmaxRow(const float* x, size_t n, bool logarithm, float* y) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  if (n <= lanes) return SoftmaxShortRow(x, n, logarithm, y);
  const FloatVec peak = hn::Set(d, PeakOf(x, n));
  FloatVec sums = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVec e = ExpBelow88(d, hn::Sub(hn::LoadU(d, x + i), peak));
    sums = hn::Add(sums, e);
    if (!logarithm) hn::StoreU(e, d, y + i);
  }
  if (i < n) {
    const FloatVec e = ExpBelow88(d, hn::Sub(hn::LoadN(d, x + i, n - i), peak));
    sums = hn::Add(sums, hn::IfThenElseZero(hn::FirstN(d, n - i), e));
    if (!logarithm) hn::StoreN(e, d, y + i, n - i);
  }
  const float sum = hn::ReduceSum(d, sums);
  const FloatVec scale = hn::Set(d, 1.0F / sum);
  const FloatVec log_sum = hn::Set(d, logarithm ? std::log(sum) : 0);
  auto finish = [=](FloatVec v) HWY_ATTR {
    return logarithm ? hn::Sub(hn::Sub(v, peak), log_sum) : hn::Mul(v, scale);
  };
  const float* from = logarithm ? x : y;
  for (i = 0; i + lanes <= n; i += lanes) hn::StoreU(finish(hn::LoadU(d, from + i)), d, y + i);
  if (i < n) hn::StoreN(finish(hn::LoadN(d, from + i, n - i)), d, y + i, n - i);
}

// The same for `count` columns side by side: element i of a column is i * stride floats after its
// first one. `count` is at most ColumnsAtOnce().
void SoftmaxColumns(const float* x, size_t n, size_t stride, size_t count, bool logarithm,
                    float* y) {
  const FloatTag d;
  FloatVec peak = hn::LoadN(d, x, count);
  for (size_t i = 1; i < n; ++i) peak = hn::Max(peak, hn::LoadN(d, x + i * stride, count));
  FloatVec sum = hn::Zero(d);
  for (size_t i = 0; i < n; ++i) {
    const FloatVec v = hn::LoadN(d, x + i * stride, count);
    sum = hn::Add(sum, ExpBelow88(d, hn::Sub(v, peak)));
  }
  const FloatVec scale = hn::Div(hn::Set(d, 1.0F), sum);
  const FloatVec log_sum = AnyLog(d, sum);
  for (size_t i = 0; i < n; ++i) {
    const FloatVec v = hn::Sub(hn::LoadN(d, x + i * stride, count), peak);
    const FloatVec result = logarithm ? hn::Sub(v, log_sum) : hn::Mul(ExpBelow88(d, v), scale);
    StoreUpTo(result, d, y + i * stride, count);
  }
}

size_t ColumnsAtOnce() { return hn::Lanes(FloatTag()); }

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/softmax/softmax.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(SoftmaxColumns);
HWY_EXPORT(ColumnsAtOnce);

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(const SoftmaxAxis& axis, bool logarithm) : axis_(axis), logarithm_(logarithm) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const SoftmaxShape shape, axis_.Resolve(x));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    if (shape.inner > 1) return RunColumns(x, shape, *y, context.allocator());
    return ForEachFloatRow(x, shape.length, *y, context.allocator(),
                           [&](int64_t /*row*/, const float* in, float* out) {
                             HWY_DYNAMIC_DISPATCH(SoftmaxRow)(in, shape.length, logarithm_, out);
                           });
  }

 private:
  absl::Status RunColumns(const Tensor& x, const SoftmaxShape& shape, Tensor& y,
                          Allocator& allocator) const {
    if (x.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(Tensor in, AsFloat(x, allocator));
    // Float results go straight into y; otherwise `in` is a copy that may be overwritten.
    float* out = x.type() == DataType::kFloat ? y.mutable_data<float>() : in.mutable_data<float>();
    const auto width = static_cast<int64_t>(HWY_DYNAMIC_DISPATCH(ColumnsAtOnce)());
    const int64_t blocks = (shape.inner + width - 1) / width;
    constexpr int64_t kElementsPerPiece = 16384;
    ParallelFor(shape.outer * blocks, kElementsPerPiece / (shape.length * width) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t column = i % blocks * width;
                    const int64_t first = i / blocks * shape.length * shape.inner + column;
                    HWY_DYNAMIC_DISPATCH(SoftmaxColumns)
                    (in.data<float>() + first, shape.length, shape.inner,
                     std::min(width, shape.inner - column), logarithm_, out + first);
                  }
                });
    if (x.type() != DataType::kFloat) WriteFloats(out, x.num_elements(), y, 0);
    return absl::OkStatus();
  }

  const SoftmaxAxis axis_;
  const bool logarithm_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Softmax::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<SoftmaxKernel>(axis_, logarithm_);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
