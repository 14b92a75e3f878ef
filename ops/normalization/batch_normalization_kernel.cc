// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/batch_normalization_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/tensors/moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// y = (x - mean) * factor + bias for n elements of one feature; y may be x.
void ScaleFeature(const float* x, size_t n, float mean, float factor, float bias, float* y) {
  const FloatTag d;
  MapRow(x, n, y, [=](FloatVec v, size_t /*i*/, size_t /*count*/) HWY_ATTR {
    return hn::MulAdd(hn::Sub(v, hn::Set(d, mean)), hn::Set(d, factor), hn::Set(d, bias));
  });
}

// The same for n features of one element each.
void ScaleFeatures(const float* x, size_t n, const float* HWY_RESTRICT mean,
                   const float* HWY_RESTRICT factor, const float* HWY_RESTRICT bias, float* y) {
  MapRow(x, n, y, [=](FloatVec v, size_t i, size_t count) HWY_ATTR {
    return hn::MulAdd(hn::Sub(v, LoadSome(mean + i, count)), LoadSome(factor + i, count),
                      LoadSome(bias + i, count));
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cmath>

#include "core/status.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(ScaleFeature);
HWY_EXPORT(ScaleFeatures);

class BatchNormalizationKernel final : public Kernel {
 public:
  explicit BatchNormalizationKernel(const BatchNormalization& op) : op_(op) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    for (int i = 0; i < 5; ++i) {
      if (!IsFloatOrHalf(context.input(i).type())) return false;
    }
    return !op_.training();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const BatchNormalizationShape shape, op_.ResolveShape(context));
    const Tensor& x = context.input(0);
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scale, AsFloat(context.input(1), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor bias, AsFloat(context.input(2), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor mean, AsFloat(context.input(3), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor variance, AsFloat(context.input(4), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor factor,
                             Tensor::Allocate(DataType::kFloat, {shape.features}, allocator));
    for (int64_t f = 0; f < shape.features; ++f) {
      factor.mutable_data<float>()[f] =
          scale.data<float>()[f] / std::sqrt(variance.data<float>()[f] + op_.epsilon());
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    if (shape.spatial == 1) {
      return ForEachFloatRow(
          x, shape.features, *y, allocator, [&](int64_t /*i*/, const float* in, float* out) {
            HWY_DYNAMIC_DISPATCH(ScaleFeatures)
            (in, shape.features, mean.data<float>(), factor.data<float>(), bias.data<float>(), out);
          });
    }
    return ForEachFloatRow(x, shape.spatial, *y, allocator,
                           [&](int64_t i, const float* in, float* out) {
                             const int64_t f = i % shape.features;
                             HWY_DYNAMIC_DISPATCH(ScaleFeature)
                             (in, shape.spatial, mean.data<float>()[f], factor.data<float>()[f],
                              bias.data<float>()[f], out);
                           });
  }

 private:
  const BatchNormalization op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> BatchNormalization::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<BatchNormalizationKernel>(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
