// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/group_normalization_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <cmath>

#include "hwy/highway.h"
#include "ops/tensors/moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Normalizes x[0, channels * spatial) as one group. Channel c takes scale[c * step] and
// bias[c * step]. y may be x.
void NormalizeGroup(const float* x, size_t channels, size_t spatial,
                    const float* HWY_RESTRICT scale, const float* HWY_RESTRICT bias, size_t step,
                    float epsilon, float* y) {
  const FloatTag d;
  const Moments moments = CenteredMoments(x, channels * spatial);
  const float inverse = 1.0F / std::sqrt(moments.variance + epsilon);
  const FloatVec mean = hn::Set(d, moments.mean);
  const FloatVec correction = hn::Set(d, moments.correction);
  for (size_t c = 0; c < channels; ++c) {
    const FloatVec factor = hn::Set(d, inverse * scale[c * step]);
    const FloatVec shift = hn::Set(d, bias[c * step]);
    MapRow(x + c * spatial, spatial, y + c * spatial,
           [=](FloatVec v, size_t /*i*/, size_t /*count*/) HWY_ATTR {
             return hn::MulAdd(hn::Sub(hn::Sub(v, mean), correction), factor, shift);
           });
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/status.h"
#include "ops/normalization/group_normalization.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(NormalizeGroup);

class GroupNormalizationKernel final : public Kernel {
 public:
  explicit GroupNormalizationKernel(const GroupNormalization& op) : op_(op) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const GroupNormalizationShape shape, op_.ResolveShape(context));
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scale, AsFloat(context.input(1), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor bias, AsFloat(context.input(2), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    auto row = [&](int64_t i, const float* in, float* out) {
      const int64_t first = shape.Parameter(i % shape.groups, 0);
      HWY_DYNAMIC_DISPATCH(NormalizeGroup)
      (in, shape.channels_per_group, shape.spatial, scale.data<float>() + first,
       bias.data<float>() + first, shape.parameters_per_group ? 0 : 1, op_.epsilon(), out);
    };
    return ForEachFloatRow(x, shape.channels_per_group * shape.spatial, *y, context.allocator(),
                           row);
  }

 private:
  const GroupNormalization op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GroupNormalization::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<GroupNormalizationKernel>(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
