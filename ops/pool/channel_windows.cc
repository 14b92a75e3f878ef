// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/channel_windows.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool/channel_windows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using MF = hn::Mask<DF>;

// The constructors are written out, since the compiler's are not of this target.
struct Maximum {
  HWY_INLINE Maximum()
      : largest(hn::Set(DF(), -std::numeric_limits<float>::infinity())), nan(hn::MaskFalse(DF())) {}

  HWY_INLINE void Add(VF x) {
    // Max of NaN and a number may be either.
    nan = hn::Or(nan, hn::IsNaN(x));
    largest = hn::Max(largest, x);
  }
  HWY_INLINE VF Result(float /*divisor*/) const {
    return hn::IfThenElse(nan, hn::Set(DF(), std::numeric_limits<float>::quiet_NaN()), largest);
  }

  VF largest;
  MF nan;
};

struct Average {
  HWY_INLINE Average() : sum(hn::Zero(DF())) {}

  HWY_INLINE void Add(VF x) { sum = hn::Add(sum, x); }
  HWY_INLINE VF Result(float divisor) const { return hn::Div(sum, hn::Set(DF(), divisor)); }

  VF sum;
};

// Pools V vectors of channels of one window. Unless kWhole, only the lanes `keep` are channels.
template <class Pooled, int V, bool kWhole>
HWY_INLINE void PoolVectors(const ChannelWindows& w, int64_t window, int64_t channel, MF keep) {
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* const x = w.x + window * w.step + channel;
  Pooled pooled[V];
  for (const int64_t offset : w.offsets) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) {
      const float* const from = x + offset + v * lanes;
      pooled[v].Add(kWhole ? hn::LoadU(d, from) : hn::MaskedLoad(keep, d, from));
    }
  }
  float* const y = w.y + window * w.channels + channel;
  HWY_UNROLL(4)
  for (int v = 0; v < V; ++v) {
    const VF result = pooled[v].Result(w.divisor);
    if (kWhole) {
      hn::StoreU(result, d, y + v * lanes);
    } else {
      hn::BlendedStore(result, keep, d, y + v * lanes);
    }
  }
}

template <class Pooled>
void PoolWindows(const ChannelWindows& w) {
  constexpr int kVectors = 4;
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const MF all = hn::FirstN(d, hn::Lanes(d));
  for (int64_t window = 0; window < w.count; ++window) {
    int64_t channel = 0;
    for (; channel + kVectors * lanes <= w.channels; channel += kVectors * lanes) {
      PoolVectors<Pooled, kVectors, true>(w, window, channel, all);
    }
    for (; channel + lanes <= w.channels; channel += lanes) {
      PoolVectors<Pooled, 1, true>(w, window, channel, all);
    }
    if (channel == w.channels) continue;
    const MF keep = hn::FirstN(d, static_cast<size_t>(w.channels - channel));
    PoolVectors<Pooled, 1, false>(w, window, channel, keep);
  }
}

void TakeMaxima(const ChannelWindows& windows) { PoolWindows<Maximum>(windows); }
void TakeAverages(const ChannelWindows& windows) { PoolWindows<Average>(windows); }

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(TakeMaxima);
HWY_EXPORT(TakeAverages);

void TakeMaxima(const ChannelWindows& windows) { HWY_DYNAMIC_DISPATCH(TakeMaxima)(windows); }
void TakeAverages(const ChannelWindows& windows) { HWY_DYNAMIC_DISPATCH(TakeAverages)(windows); }

}  // namespace attnrun::ops
#endif  // HWY_ONCE
