// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/head_normalization_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <cmath>

#include "hwy/highway.h"
#include "ops/tensors/moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Normalizes one head in place.
void NormalizeHead(float* x, size_t n, const float* HWY_RESTRICT scale, float epsilon) {
  const FloatTag d;
  const FloatVec factor = hn::Set(d, 1.0F / std::sqrt(RawMoments(x, n).variance + epsilon));
  MapRow(x, n, x, [=](FloatVec v, size_t i, size_t count) HWY_ATTR {
    return hn::Mul(hn::Mul(v, factor), LoadSome(scale + i, count));
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "core/status.h"
#include "ops/attention/head_normalization.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(NormalizeHead);

class HeadRmsNormalizationKernel final : public Kernel {
 public:
  explicit HeadRmsNormalizationKernel(const HeadRmsNormalization& op) : op_(op) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_RETURN_IF_ERROR(op_.Check(context));
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scale, AsFloat(context.input(1), context.allocator()));
    const int64_t width = x.dim(2);
    const HeadColumns& heads = op_.heads();
    auto row = [&](int64_t /*i*/, const float* in, float* out) {
      if (in != out) std::copy(in, in + width, out);
      const float* head_scale = scale.data<float>();
      for (const int64_t offset : heads.offsets) {
        HWY_DYNAMIC_DISPATCH(NormalizeHead)(out + offset, heads.size, head_scale, op_.epsilon());
        head_scale += heads.size;
      }
    };
    return ForEachFloatRow(x, width, *y, context.allocator(), row);
  }

 private:
  const HeadRmsNormalization op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> HeadRmsNormalization::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<HeadRmsNormalizationKernel>(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
