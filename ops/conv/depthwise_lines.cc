// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/depthwise_lines.h"

#include <algorithm>

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

// A vector of channels of some windows.
struct WindowVector {
  int64_t window;
  int64_t channel;
  // The lanes that are channels.
  hn::Mask<DF> keep;
};

template <bool kWhole>
HWY_INLINE VF LoadChannels(const WindowVector& at, const float* from) {
  return kWhole ? hn::LoadU(DF(), from) : hn::MaskedLoad(at.keep, DF(), from);
}

// The sums of P windows.
template <int P, bool kWhole>
struct Sums {
  HWY_INLINE Sums(const DepthwiseRun& r, const WindowVector& at) {
    const VF start =
        r.bias == nullptr ? hn::Zero(DF()) : LoadChannels<kWhole>(at, r.bias + at.channel);
    HWY_UNROLL(8)
    for (int p = 0; p < P; ++p) sums[p] = start;
  }

  HWY_INLINE void Store(const DepthwiseRun& r, const WindowVector& at) {
    const DF d;
    const Clamp clamp(r.activation);
    float* to = r.y + at.window * r.channels + at.channel;
    HWY_UNROLL(8)
    for (int p = 0; p < P; ++p, to += r.channels) {
      if (r.accumulate) sums[p] = hn::Add(sums[p], LoadChannels<kWhole>(at, to));
      sums[p] = clamp.Apply(d, sums[p]);
      if (kWhole) {
        hn::StoreU(sums[p], d, to);
      } else {
        hn::BlendedStore(sums[p], at.keep, d, to);
      }
    }
  }

  VF sums[P];
};

// Sums P windows, any number of taps.
template <int P>
struct AnyTaps {
  template <bool kWhole>
  static HWY_INLINE void Sum(const DepthwiseRun& r, const WindowVector& at) {
    Sums<P, kWhole> s(r, at);
    for (const TapLine& line : r.lines) {
      const float* x = line.x + r.offset + at.window * r.step + at.channel;
      const float* w = line.weights + r.taps.begin * r.channels + at.channel;
      for (int64_t tap = r.taps.begin; tap < r.taps.end; ++tap) {
        const VF weight = LoadChannels<kWhole>(at, w);
        HWY_UNROLL(8)
        for (int p = 0; p < P; ++p) {
          s.sums[p] = hn::MulAdd(LoadChannels<kWhole>(at, x + p * r.step), weight, s.sums[p]);
        }
        x += r.tap_step;
        w += r.channels;
      }
    }
    s.Store(r, at);
  }
};

// Sums P windows of K adjacent taps that are S elements apart, and so share most of these: each is
// loaded once. The order of the additions is that of AnyTaps.
template <int P, int K, int S>
struct SharedTaps {
  template <bool kWhole>
  static HWY_INLINE void Sum(const DepthwiseRun& r, const WindowVector& at) {
    Sums<P, kWhole> s(r, at);
    for (const TapLine& line : r.lines) {
      const float* x = line.x + r.offset + at.window * r.step + at.channel;
      const float* w = line.weights + at.channel;
      VF weights[K];
      HWY_UNROLL(8)
      for (int k = 0; k < K; ++k, w += r.channels) weights[k] = LoadChannels<kWhole>(at, w);
      HWY_UNROLL(32)
      for (int i = 0; i < S * (P - 1) + K; ++i, x += r.channels) {
        const VF element = LoadChannels<kWhole>(at, x);
        HWY_UNROLL(8)
        for (int p = 0; p < P; ++p) {
          const int k = i - S * p;
          if (k >= 0 && k < K) s.sums[p] = hn::MulAdd(element, weights[k], s.sums[p]);
        }
      }
    }
    s.Store(r, at);
  }
};

// Sums one window, several vectors of channels at once.
HWY_NOINLINE void SumWindow(const DepthwiseRun& r, int64_t window) {
  constexpr int kVectors = 4;
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, hn::Lanes(d));
  int64_t channel = r.part.begin;
  for (; channel + kVectors * lanes <= r.part.end; channel += kVectors * lanes) {
    VF sums[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = r.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, r.bias + channel + v * lanes);
    }
    for (const TapLine& line : r.lines) {
      const float* x = line.x + r.offset + window * r.step + channel;
      const float* w = line.weights + r.taps.begin * r.channels + channel;
      for (int64_t tap = r.taps.begin; tap < r.taps.end; ++tap) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) {
          sums[v] = hn::MulAdd(hn::LoadU(d, x + v * lanes), hn::LoadU(d, w + v * lanes), sums[v]);
        }
        x += r.tap_step;
        w += r.channels;
      }
    }
    float* const y = r.y + window * r.channels + channel;
    const Clamp clamp(r.activation);
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      if (r.accumulate) sums[v] = hn::Add(sums[v], hn::LoadU(d, y + v * lanes));
      hn::StoreU(clamp.Apply(d, sums[v]), d, y + v * lanes);
    }
  }
  for (; channel + lanes <= r.part.end; channel += lanes) {
    AnyTaps<1>::Sum<true>(r, {window, channel, all});
  }
  if (channel == r.part.end) return;
  AnyTaps<1>::Sum<false>(
      r, {window, channel, hn::FirstN(d, static_cast<size_t>(r.part.end - channel))});
}

// Sums all channels of the windows from `window` on.
template <typename Taps>
HWY_NOINLINE void SumWindows(const DepthwiseRun& r, int64_t window) {
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  WindowVector at = {window, r.part.begin, hn::FirstN(d, hn::Lanes(d))};
  for (; at.channel + lanes <= r.part.end; at.channel += lanes) Taps::template Sum<true>(r, at);
  if (at.channel == r.part.end) return;
  at.keep = hn::FirstN(d, static_cast<size_t>(r.part.end - at.channel));
  Taps::template Sum<false>(r, at);
}

// Sums K adjacent taps of all windows, where they are S elements apart. A few windows may be summed
// twice. False, having done nothing, if it does not apply.
template <int K, int S>
bool SumShared(const DepthwiseRun& r) {
  constexpr int64_t kHalf = kAtOnce / 2;
  const bool fits = r.taps.begin == 0 && r.taps.end == K && r.tap_step == r.channels &&
                    r.step == S * r.channels && !r.accumulate;
  if (!fits || r.count < kHalf) return false;
  int64_t window = 0;
  for (; window + kAtOnce <= r.count; window += kAtOnce) {
    SumWindows<SharedTaps<kAtOnce, K, S>>(r, window);
  }
  for (; window < r.count; window += kHalf) {
    SumWindows<SharedTaps<kHalf, K, S>>(r, std::min(window, r.count - kHalf));
  }
  return true;
}

void SumRun(const DepthwiseRun& r) {
  if (SumShared<3, 1>(r) || SumShared<5, 1>(r) || SumShared<3, 2>(r) || SumShared<5, 2>(r)) return;
  int64_t window = 0;
  for (; window + kAtOnce <= r.count; window += kAtOnce) SumWindows<AnyTaps<kAtOnce>>(r, window);
  const int64_t rest = r.count - window;
  if ((rest & 4) != 0) SumWindows<AnyTaps<4>>(r, window);
  if ((rest & 2) != 0) SumWindows<AnyTaps<2>>(r, window + (rest & 4));
  if ((rest & 1) != 0) SumWindow(r, window + (rest & 6));
}

bool EndsWithSums(const Activation& activation) { return Clamp(activation).is_all; }

// y += residual.
void AddResidual(const DepthwiseEnd& end) {
  const DF d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t window = 0; window < end.count; ++window) {
    float* const y = end.y + window * end.channels;
    const float* const residual = end.residual + window * end.channels;
    int64_t i = end.part.begin;
    for (; i + lanes <= end.part.end; i += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::LoadU(d, residual + i)), d, y + i);
    }
    for (; i < end.part.end; ++i) y[i] += residual[i];
  }
}

void EndLine(const DepthwiseEnd& end) {
  if (end.residual != nullptr && end.residual_first) AddResidual(end);
  if (end.activation) {
    const bool whole = end.part.size() == end.channels;
    const int64_t rows = whole ? 1 : end.count;
    ActivateTile(end.activation, {end.y + end.part.begin, end.channels, rows,
                                  end.part.size() * (whole ? end.count : 1)});
  }
  if (end.residual != nullptr && !end.residual_first) AddResidual(end);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(SumRun);
HWY_EXPORT(EndsWithSums);
HWY_EXPORT(EndLine);

void SumRun(const DepthwiseRun& run) { HWY_DYNAMIC_DISPATCH(SumRun)(run); }
bool EndsWithSums(const Activation& activation) {
  return HWY_DYNAMIC_DISPATCH(EndsWithSums)(activation);
}
void EndLine(const DepthwiseEnd& end) { HWY_DYNAMIC_DISPATCH(EndLine)(end); }

}  // namespace attnrun::ops
#endif  // HWY_ONCE
