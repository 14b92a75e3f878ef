// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/parallel.h"
#include "core/status.h"
#include "hwy/highway.h"
#include "ops/search/arg.h"

namespace attnrun::ops {
namespace {

// The kernel makes one pass over memory, for which baseline vectors are enough.
namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<float> kTag;

// The greatest x[i] * sign of n > 0 floats, or NaN if there is one.
float Greatest(const float* x, int64_t n, float sign) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kTag));
  const auto signs = hn::Set(kTag, sign);
  auto greatest = hn::Set(kTag, x[0] * sign);
  auto nans = hn::Zero(kTag);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Mul(hn::LoadU(kTag, x + i), signs);
    nans = hn::Or(nans, hn::VecFromMask(kTag, hn::IsNaN(v)));
    greatest = hn::Max(greatest, v);
  }
  if (!hn::AllFalse(kTag, hn::MaskFromVec(nans))) return NAN;
  float result = hn::ReduceMax(kTag, greatest);
  for (; i < n; ++i) {
    if (std::isnan(x[i])) return NAN;
    result = HWY_MAX(result, x[i] * sign);
  }
  return result;
}

// The index of the first (last) element equal to `value`; NaN counts as equal to NaN.
int64_t Find(const float* x, int64_t n, float value, bool last) {
  const bool nan = std::isnan(value);
  const auto matches = [&](int64_t i) { return nan ? std::isnan(x[i]) : x[i] == value; };
  if (last) {
    int64_t i = n - 1;
    while (i > 0 && !matches(i)) --i;
    return i;
  }
  int64_t i = 0;
  const auto lanes = static_cast<int64_t>(hn::Lanes(kTag));
  const auto values = hn::Set(kTag, value);
  for (; !nan && i + lanes <= n; i += lanes) {
    const auto equal = hn::Eq(hn::LoadU(kTag, x + i), values);
    if (!hn::AllFalse(kTag, equal)) return i + hn::FindKnownFirstTrue(kTag, equal);
  }
  while (i < n - 1 && !matches(i)) ++i;
  return i;
}

// For floats: with vectors along the innermost axis, a row of candidates at a time along others.
class ArgKernel final : public Kernel {
 public:
  ArgKernel(bool least, int64_t axis, bool keep_dims, bool last)
      : least_(least), axis_(axis), keep_dims_(keep_dims), last_(last) {}

  absl::string_view name() const override { return "highway"; }
  bool Accepts(const OpContext& context) const override {
    return context.input(0).type() == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, ArgShape(data, axis, keep_dims_));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt64, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const int64_t step = DenseStrides(data.shape())[axis];
    const int64_t length = data.dim(axis);
    constexpr int64_t kElementsPerPiece = 32768;
    ParallelFor(y->num_elements(), kElementsPerPiece / length + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* x = data.data<float>() + i / step * length * step + i % step;
        y->mutable_data<int64_t>()[i] = step == 1 ? BestAdjacent(x, length) : Best(x, length, step);
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t BestAdjacent(const float* x, int64_t length) const {
    const float sign = least_ ? -1.0F : 1.0F;
    return Find(x, length, sign * Greatest(x, length, sign), last_);
  }

  int64_t Best(const float* x, int64_t length, int64_t step) const {
    int64_t best = 0;
    for (int64_t j = 1; j < length; ++j) {
      const float value = x[j * step];
      const float best_value = x[best * step];
      const bool nan = std::isnan(value);
      if (std::isnan(best_value)) {
        if (nan && last_) best = j;
      } else if (nan || (least_ ? value < best_value : value > best_value) ||
                 (last_ && value == best_value)) {
        best = j;
      }
    }
    return best;
  }

  const bool least_;
  const int64_t axis_;
  const bool keep_dims_;
  const bool last_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ArgOp::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<ArgKernel>(least_, axis_, keep_dims_, last_);
}

}  // namespace attnrun::ops
