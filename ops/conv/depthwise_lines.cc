// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/depthwise_lines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/depthwise_lines.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// Windows whose sums are in registers at once: enough to hide the latency of additions.
constexpr int kAtOnce = 8;

// Sums a vector of channels, from `channel` on, of P windows from `window` on. `keep`: the lanes
// that are channels; kWhole if all are.
template <int P, bool kWhole>
HWY_INLINE void SumVector(const DepthwiseRun& r, int64_t window, int64_t channel,
                          hn::Mask<DF> keep) {
  const DF d;
  const auto load = [&](const float* from) HWY_ATTR {
    return kWhole ? hn::LoadU(d, from) : hn::MaskedLoad(keep, d, from);
  };
  VF sums[P];
  const VF start = r.bias == nullptr ? hn::Zero(d) : load(r.bias + channel);
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) sums[p] = start;
  const int64_t first = r.offset + window * r.step + channel;
  for (const TapLine& line : r.lines) {
    const float* x = line.x + first;
    const float* w = line.weights + r.taps.begin * r.channels + channel;
    for (int64_t tap = r.taps.begin; tap < r.taps.end; ++tap) {
      const VF weight = load(w);
      HWY_UNROLL(8)
      for (int p = 0; p < P; ++p) sums[p] = hn::MulAdd(load(x + p * r.step), weight, sums[p]);
      x += r.tap_step;
      w += r.channels;
    }
  }
  float* const y = r.y + window * r.channels + channel;
  HWY_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    float* const to = y + p * r.channels;
    if (r.accumulate) sums[p] = hn::Add(sums[p], load(to));
    if (kWhole) {
      hn::StoreU(sums[p], d, to);
    } else {
      hn::BlendedStore(sums[p], keep, d, to);
    }
  }
}

template <int P>
HWY_NOINLINE void SumWindows(const DepthwiseRun& r, int64_t window) {
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t channel = 0;
  const auto all = hn::FirstN(d, hn::Lanes(d));
  for (; channel + lanes <= r.channels; channel += lanes) {
    SumVector<P, true>(r, window, channel, all);
  }
  if (channel < r.channels) {
    SumVector<P, false>(r, window, channel,
                        hn::FirstN(d, static_cast<size_t>(r.channels - channel)));
  }
}

void SumRun(const DepthwiseRun& r) {
  int64_t window = 0;
  for (; window + kAtOnce <= r.count; window += kAtOnce) SumWindows<kAtOnce>(r, window);
  const int64_t rest = r.count - window;
  if ((rest & 4) != 0) SumWindows<4>(r, window);
  if ((rest & 2) != 0) SumWindows<2>(r, window + (rest & 4));
  if ((rest & 1) != 0) SumWindows<1>(r, window + (rest & 6));
}

void EndLine(const DepthwiseEnd& end) {
  const auto add = [&]() HWY_ATTR {
    const DF d;
    const int64_t size = end.count * end.channels;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= size; i += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, end.y + i), hn::LoadU(d, end.residual + i)), d, end.y + i);
    }
    for (; i < size; ++i) end.y[i] += end.residual[i];
  };
  if (end.residual != nullptr && end.residual_first) add();
  const int64_t size = end.count * end.channels;
  if (end.activation) ActivateTile(end.activation, {end.y, size, 1, size});
  if (end.residual != nullptr && !end.residual_first) add();
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(SumRun);
HWY_EXPORT(EndLine);

void SumRun(const DepthwiseRun& run) { HWY_DYNAMIC_DISPATCH(SumRun)(run); }
void EndLine(const DepthwiseEnd& end) { HWY_DYNAMIC_DISPATCH(EndLine)(end); }

}  // namespace attnrun::ops
#endif  // HWY_ONCE
