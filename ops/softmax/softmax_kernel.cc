#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax/softmax_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// y = softmax(x) over one row of `n` floats; y may be x.
void SoftmaxRow(const float* HWY_RESTRICT x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto peaks = hn::Set(d, x[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) peaks = hn::Max(peaks, hn::LoadU(d, x + i));
  float peak = hn::ReduceMax(d, peaks);
  for (; i < n; ++i) peak = HWY_MAX(peak, x[i]);
  const auto shift = hn::Set(d, peak);
  auto sums = hn::Zero(d);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), shift));
    sums = hn::Add(sums, e);
    hn::StoreU(e, d, y + i);
  }
  if (i < n) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadN(d, x + i, n - i), shift));
    sums = hn::Add(sums, hn::IfThenElseZero(hn::FirstN(d, n - i), e));
    hn::StoreN(e, d, y + i, n - i);
  }
  const auto scale = hn::Set(d, 1.0F / hn::ReduceSum(d, sums));
  for (i = 0; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), scale), d, y + i);
  if (i < n) hn::StoreN(hn::Mul(hn::LoadN(d, y + i, n - i), scale), d, y + i, n - i);
}

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/parallel.h"
#include "core/status.h"
#include "ops/softmax/softmax.h"

namespace attnrun {
namespace {

HWY_EXPORT(SoftmaxRow);

// Softmax over the innermost axis of floats, a row at a time.
class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(int64_t axis, bool flatten) : axis_(axis), flatten_(flatten) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    if (x.type() != DataType::kFloat || x.rank() == 0) return false;
    const absl::StatusOr<int> axis = NormalizeAxis(axis_, x.rank());
    return axis.ok() && (flatten_ || *axis == x.rank() - 1);
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, x.rank()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    int64_t length = 1;
    for (int i = axis; i < x.rank(); ++i) length *= x.dim(i);
    if (x.num_elements() == 0) return absl::OkStatus();
    const float* in = x.data<float>();
    auto* out = y->mutable_data<float>();
    constexpr int64_t kElementsPerPiece = 16384;
    ParallelFor(x.num_elements() / length, kElementsPerPiece / length + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    HWY_DYNAMIC_DISPATCH(SoftmaxRow)(in + row * length, out + row * length, length);
                  }
                });
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
  const bool flatten_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Softmax::MakeKernel(ConstantInputs /*constants*/) const {
  if (logarithm_) return nullptr;
  return std::make_unique<SoftmaxKernel>(axis_, flatten_);
}

}  // namespace attnrun
#endif  // HWY_ONCE
