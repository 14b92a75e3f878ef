// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/layer_normalization_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <cmath>

#include "hwy/highway.h"
#include "ops/tensors/moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

HWY_INLINE bool AllEqual(const float* HWY_RESTRICT x, size_t n) {
  for (size_t i = 1; i < n; ++i) {
    if (x[i] != x[0]) return false;
  }
  return true;
}

// Without an epsilon, a row of equal elements is 0/0; the rounding of the mean would hide that.
HWY_INLINE Moments MomentsOf(const float* x, size_t n, float epsilon, bool centered) {
  if (!centered) return RawMoments(x, n);
  if (epsilon == 0 && AllEqual(x, n)) return {.mean = x[0]};
  return CenteredMoments(x, n);
}

// One row of LayerNormalizationSpec's formula; y may be x, bias may be null. Stores the mean and
// 1 / sqrt(variance + epsilon).
void LayerNormalizationRow(const float* x, size_t n, const float* HWY_RESTRICT scale,
                           const float* HWY_RESTRICT bias, float epsilon, bool centered, float* y,
                           float* mean, float* inverse) {
  const FloatTag d;
  const Moments moments = MomentsOf(x, n, epsilon, centered);
  *mean = moments.mean + moments.correction;
  *inverse = 1.0F / std::sqrt(moments.variance + epsilon);
  const FloatVec middle = hn::Set(d, moments.mean);
  const FloatVec correction = hn::Set(d, moments.correction);
  const FloatVec factor = hn::Set(d, *inverse);
  auto normalized = [=](FloatVec v, size_t i, size_t count) HWY_ATTR {
    const FloatVec deviation = hn::Sub(hn::Sub(v, middle), correction);
    return hn::Mul(hn::Mul(deviation, factor), LoadSome(scale + i, count));
  };
  if (bias == nullptr) {
    MapRow(x, n, y, normalized);
    return;
  }
  MapRow(x, n, y, [=](FloatVec v, size_t i, size_t count) HWY_ATTR {
    return hn::Add(normalized(v, i, count), LoadSome(bias + i, count));
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/status.h"
#include "core/strided.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(LayerNormalizationRow);

// For rows of float, float16 or bfloat16 that share scale and bias.
class LayerNormalizationKernel final : public Kernel {
 public:
  explicit LayerNormalizationKernel(const LayerNormalizationSpec& spec) : spec_(spec) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    if (!IsFloatOrHalf(context.input(0).type()) || !IsFloatOrHalf(spec_.stash)) return false;
    const auto shape = ResolveShape(spec_, context);
    if (!shape.ok()) return false;
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (!context.has_input(i)) continue;
      // The scale may have another type than x, which is also that of the result.
      const Tensor& row = context.input(i);
      if (!IsFloatOrHalf(row.type()) || !IsOneRow(row, context.input(0), *shape)) return false;
    }
    return true;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const LayerNormalizationShape shape, ResolveShape(spec_, context));
    const Tensor& x = context.input(0);
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scale, AsFloat(context.input(1), allocator));
    Tensor bias;
    if (context.has_input(2)) {
      ATTNRUN_ASSIGN_OR_RETURN(bias, AsFloat(context.input(2), allocator));
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y,
                             context.AllocateOutput(0, context.input(1).type(), x.shape(), {0}));
    Tensor* mean = nullptr;
    Tensor* inverse = nullptr;
    ATTNRUN_RETURN_IF_ERROR(AllocateStatistics(context, spec_.mean_output, shape, &mean));
    ATTNRUN_RETURN_IF_ERROR(AllocateStatistics(context, spec_.inverse_output, shape, &inverse));
    auto row = [&](int64_t i, const float* in, float* out) {
      float row_mean = 0;
      float row_inverse = 0;
      HWY_DYNAMIC_DISPATCH(LayerNormalizationRow)
      (in, shape.length, scale.data<float>(), bias.data<float>(), spec_.epsilon, spec_.centered,
       out, &row_mean, &row_inverse);
      if (mean != nullptr) WriteFloats(&row_mean, 1, *mean, i);
      if (inverse != nullptr) WriteFloats(&row_inverse, 1, *inverse, i);
    };
    return ForEachFloatRow(x, shape.length, *y, allocator, row);
  }

 private:
  static bool IsOneRow(const Tensor& parameter, const Tensor& x,
                       const LayerNormalizationShape& shape) {
    const auto strides = BroadcastStrides(parameter.shape(), x.shape());
    if (!strides.ok() || parameter.num_elements() != shape.length) return false;
    for (int i = 0; i < shape.axis; ++i) {
      if ((*strides)[i] != 0 && x.dim(i) != 1) return false;
    }
    return true;
  }

  absl::Status AllocateStatistics(OpContext& context, int output,
                                  const LayerNormalizationShape& shape, Tensor** tensor) const {
    if (output < 0 || !context.wants_output(output)) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(*tensor,
                             context.AllocateOutput(output, spec_.stash, shape.statistics));
    return absl::OkStatus();
  }

  const LayerNormalizationSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> LayerNormalization::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<LayerNormalizationKernel>(spec_);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
