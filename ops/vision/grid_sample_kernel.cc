// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vision/grid_sample_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/vision/grid_taps.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[i] = the sum over taps of their weight times the element of `image` at their position. `out`
// has room for a whole block.
void SampleImage(const GridTaps& taps, const float* HWY_RESTRICT image, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  for (size_t i = 0; i < taps.places; i += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (size_t tap = 0; tap < taps.count; ++tap) {
      const auto position = hn::Load(di, taps.positions[tap] + i);
      const auto inside = hn::RebindMask(d, hn::Ge(position, hn::Zero(di)));
      const auto element = hn::MaskedGatherIndex(inside, d, image, position);
      sum = hn::MulAdd(hn::Load(d, taps.weights[tap] + i), element, sum);
    }
    hn::Store(sum, d, out + i);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"
#include "ops/vision/grid_sample.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(SampleImage);

// Finds the taps of a block of places once, and reads all channels by them.
class GridSampleKernel final : public Kernel {
 public:
  explicit GridSampleKernel(const GridAttributes& attributes) : attributes_(attributes) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    // Positions in an image are int32, with room for places around it.
    const bool small = x.num_elements() < int64_t{1} << 30;
    return small && IsFloatOrHalf(x.type()) && IsFloatOrHalf(context.input(1).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, CheckGrid(context.input(0), context.input(1)));
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, context.input(0).type(), shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor grid, ToFloat(context.input(1), context.allocator()));
    const int64_t places = y.num_elements() / (shape[0] * shape[1]);
    const int64_t blocks = DivCeil(places, int64_t{kGridBlock});
    ParallelFor(shape[0] * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        SampleBlock(x, grid, i / blocks, i % blocks * kGridBlock, places, y.data());
      }
    });
    y.Store();
    return absl::OkStatus();
  }

 private:
  // All channels of the block of places from `first` on, of one sample.
  void SampleBlock(const Tensor& x, const Tensor& grid, int64_t sample, int64_t first,
                   int64_t places, float* y) const {
    const int axes = x.rank() - 2;
    const int64_t count = std::min<int64_t>(kGridBlock, places - first);
    GridTaps taps;
    FindGridTaps(attributes_, absl::MakeSpan(x.shape()).subspan(2),
                 grid.data<float>() + (sample * places + first) * axes, static_cast<size_t>(count),
                 taps);
    const int64_t channels = x.dim(1);
    const int64_t size = x.num_elements() / (x.dim(0) * channels);
    HWY_ALIGN float out[kGridBlock];
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t image = sample * channels + channel;
      HWY_DYNAMIC_DISPATCH(SampleImage)(taps, x.data<float>() + image * size, out);
      std::copy_n(out, count, y + image * places + first);
    }
  }

  const GridAttributes attributes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GridSample::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<GridSampleKernel>(attributes_);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
