// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/linear_attention/causal_conv_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <algorithm>

#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// y += factor x, for n elements.
void AddScaled(const float* HWY_RESTRICT x, float factor, size_t n, float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto factors = hn::Set(d, factor);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulAdd(factors, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  if (i == n) return;
  const auto rest = hn::MulAdd(factors, hn::LoadN(d, x + i, n - i), hn::LoadN(d, y + i, n - i));
  hn::StoreN(rest, d, y + i, n - i);
}

// y += factors x, element by element.
void AddProducts(const float* HWY_RESTRICT x, const float* HWY_RESTRICT factors, size_t n,
                 float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = std::min(lanes, n - i);
    const auto sum = hn::MulAdd(hn::LoadN(d, factors + i, count), hn::LoadN(d, x + i, count),
                                hn::LoadN(d, y + i, count));
    hn::StoreN(sum, d, y + i, count);
  }
}

void Silu(float* y, int64_t n) { ActivateTile({UnaryFunction::kSwish, 1}, {y, n, 1, n}); }

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/linear_attention/causal_conv.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(AddScaled);
HWY_EXPORT(AddProducts);
HWY_EXPORT(Silu);

constexpr int64_t kElementsPerPiece = 8192;

// One call on floats.
struct Operands {
  CausalConvShape shape;
  int64_t dilation;
  bool silu;
  const float* x;
  // [C, K]; with channels last [K, C].
  const float* weight;
  // Null: zeros.
  const float* bias;
  const float* past;
  float* y;
};

// Channel `row` of all samples, whose positions follow each other. The taps are added in the same
// order at all positions, whether they read the past or not.
void ConvolveChannel(const Operands& o, int64_t row) {
  const CausalConvShape& shape = o.shape;
  const int64_t channel = row % shape.channels;
  const float* x = o.x + row * shape.length;
  float* y = o.y + row * shape.length;
  std::fill_n(y, shape.length, o.bias == nullptr ? 0.0F : o.bias[channel]);
  for (int64_t tap = 0; tap < shape.taps; ++tap) {
    const float weight = o.weight[channel * shape.taps + tap];
    // The first positions read the past.
    const int64_t before = shape.reach - tap * o.dilation;
    const int64_t from_past = std::min(before, shape.length);
    if (o.past != nullptr) {
      const float* past = o.past + (row + 1) * shape.reach - before;
      for (int64_t i = 0; i < from_past; ++i) y[i] = std::fma(weight, past[i], y[i]);
    }
    if (before >= shape.length) continue;
    HWY_DYNAMIC_DISPATCH(AddScaled)
    (x, weight, static_cast<size_t>(shape.length - before), y + before);
  }
}

// Position `row` of all samples, whose channels follow each other.
void ConvolvePosition(const Operands& o, int64_t row) {
  const CausalConvShape& shape = o.shape;
  const int64_t sample = row / shape.length;
  const int64_t position = row % shape.length;
  const int64_t channels = shape.channels;
  float* y = o.y + row * channels;
  if (o.bias != nullptr) {
    std::copy_n(o.bias, channels, y);
  } else {
    std::fill_n(y, channels, 0.0F);
  }
  for (int64_t tap = 0; tap < shape.taps; ++tap) {
    const int64_t at = position + tap * o.dilation - shape.reach;
    const float* from = o.x + (sample * shape.length + at) * channels;
    if (at < 0) {
      if (o.past == nullptr) continue;
      from = o.past + (sample * shape.reach + shape.reach + at) * channels;
    }
    HWY_DYNAMIC_DISPATCH(AddProducts)
    (from, o.weight + tap * channels, static_cast<size_t>(channels), y);
  }
}

void Convolve(const Operands& o, bool channels_last) {
  const int64_t rows = o.shape.batch * (channels_last ? o.shape.length : o.shape.channels);
  const int64_t width = channels_last ? o.shape.channels : o.shape.length;
  if (rows == 0 || width == 0) return;
  ParallelFor(rows, kElementsPerPiece / width + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      channels_last ? ConvolvePosition(o, row) : ConvolveChannel(o, row);
    }
    if (o.silu) HWY_DYNAMIC_DISPATCH(Silu)(o.y + begin * width, (end - begin) * width);
  });
}

// The past and x are a sequence for each `row`: a channel, or with channels last a sample, whose
// elements are then `unit` channels. Writes the last positions of its first reach + seen ones.
void KeepState(const Operands& o, int64_t rows, int64_t unit, int64_t seen, float* state) {
  const int64_t reach = o.shape.reach;
  // The positions that the past still gives.
  const int64_t kept = std::max<int64_t>(0, reach - seen);
  for (int64_t row = 0; row < rows; ++row) {
    float* to = state + row * reach * unit;
    if (o.past != nullptr) {
      std::copy_n(o.past + (row * reach + reach - kept) * unit, kept * unit, to);
    } else {
      std::fill_n(to, kept * unit, 0.0F);
    }
    std::copy_n(o.x + (row * o.shape.length + seen - (reach - kept)) * unit, (reach - kept) * unit,
                to + kept * unit);
  }
}

// [C, K] as [K, C].
std::vector<float> Transposed(const float* weight, int64_t channels, int64_t taps) {
  std::vector<float> result(channels * taps);
  for (int64_t i = 0; i < channels * taps; ++i) {
    result[i % taps * channels + i / taps] = weight[i];
  }
  return result;
}

class CausalConvKernel final : public Kernel {
 public:
  explicit CausalConvKernel(const CausalConvAttributes& attributes) : attributes_(attributes) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const CausalConvShape shape, ResolveCausalConv(attributes_, context));
    std::vector<Tensor> floats(4);
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!context.has_input(i)) continue;
      ATTNRUN_ASSIGN_OR_RETURN(floats[i], ToFloat(context.input(i), context.allocator()));
    }
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y, FloatOutput::Allocate(context, 0, x.type(), x.shape()));
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput present,
                             FloatOutput::Allocate(context, 1, x.type(), shape.state));
    Operands o = {.shape = shape,
                  .dilation = attributes_.dilation,
                  .silu = attributes_.silu,
                  .x = floats[0].data<float>(),
                  .weight = floats[1].data<float>(),
                  .bias = floats[2].defined() ? floats[2].data<float>() : nullptr,
                  .past = floats[3].defined() ? floats[3].data<float>() : nullptr,
                  .y = y.data()};
    const int64_t slots = std::max<int64_t>(1, attributes_.window);
    const int64_t slot_size = present.num_elements() / slots;
    if (o.past != nullptr) o.past += (slots - 1) * slot_size;
    std::vector<float> transposed;
    if (attributes_.channels_last) {
      transposed = Transposed(o.weight, shape.channels, shape.taps);
      o.weight = transposed.data();
    }
    Convolve(o, attributes_.channels_last);
    KeepStates(o, slots, slot_size, present.data());
    y.Store();
    present.Store();
    return absl::OkStatus();
  }

 private:
  void KeepStates(const Operands& o, int64_t slots, int64_t slot_size, float* states) const {
    const bool last = attributes_.channels_last;
    const int64_t rows = last ? o.shape.batch : o.shape.batch * o.shape.channels;
    for (int64_t slot = 0; slot < slots; ++slot) {
      const int64_t seen = o.shape.length - slots + slot + 1;
      float* state = states + slot * slot_size;
      if (seen > 0 || slot == slots - 1) {
        KeepState(o, rows, last ? o.shape.channels : 1, seen, state);
      } else {
        std::fill_n(state, slot_size, 0.0F);
      }
    }
  }

  const CausalConvAttributes attributes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> CausalConv::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<CausalConvKernel>(attributes_);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
