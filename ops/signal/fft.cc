// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/signal/fft.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <cmath>
#include <numbers>
#include <utility>

#include "hwy/highway.h"
#include "ops/signal/fft.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

int64_t LaneCount() { return static_cast<int64_t>(hn::Lanes(FloatTag())); }

struct Complex {
  FloatVec re;
  FloatVec im;
};

HWY_INLINE Complex Load(const float* x, int64_t j) {
  const FloatTag d;
  const float* const at = x + 2 * j * hn::Lanes(d);
  return {hn::LoadU(d, at), hn::LoadU(d, at + hn::Lanes(d))};
}

HWY_INLINE void Store(const Complex& v, float* x, int64_t j) {
  const FloatTag d;
  float* const at = x + 2 * j * hn::Lanes(d);
  hn::StoreU(v.re, d, at);
  hn::StoreU(v.im, d, at + hn::Lanes(d));
}

HWY_INLINE Complex Plus(const Complex& a, const Complex& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}

HWY_INLINE Complex Minus(const Complex& a, const Complex& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}

// a times the number at `pair`.
HWY_INLINE Complex Times(const Complex& a, const float* pair) {
  const FloatTag d;
  const FloatVec re = hn::Set(d, pair[0]);
  const FloatVec im = hn::Set(d, pair[1]);
  return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.re, im, hn::Mul(a.im, re))};
}

// In a stage, number t + r * after of the rest of a line, r < radix, is at before * (t + r * after)
// of `x`, and frequency k of those goes to before * (radix * t + k) of `y`, for each of the
// `before` transforms that earlier stages split off.
void Radix2(const FftPlan& plan, const FftPlan::Stage& s, const float* x, float* y) {
  for (int64_t t = 0; t < s.after; ++t) {
    const float* const w = plan.pairs(s.twiddles + t);
    for (int64_t q = 0; q < s.before; ++q) {
      const Complex a = Load(x, q + s.before * t);
      const Complex b = Load(x, q + s.before * (t + s.after));
      Store(Plus(a, b), y, q + s.before * 2 * t);
      Store(Times(Minus(a, b), w), y, q + s.before * (2 * t + 1));
    }
  }
}

void Radix4(const FftPlan& plan, const FftPlan::Stage& s, const float* x, float* y) {
  const FloatTag d;
  const FloatVec sign = hn::Set(d, plan.inverse() ? -1.0F : 1.0F);
  for (int64_t t = 0; t < s.after; ++t) {
    const float* const w = plan.pairs(s.twiddles + 3 * t);
    for (int64_t q = 0; q < s.before; ++q) {
      const auto at = [&](int64_t r) HWY_ATTR { return Load(x, q + s.before * (t + r * s.after)); };
      const Complex a = at(0);
      const Complex b = at(1);
      const Complex c = at(2);
      const Complex e = at(3);
      const Complex even = Plus(a, c);
      const Complex even_difference = Minus(a, c);
      const Complex odd = Plus(b, e);
      const Complex difference = Minus(b, e);
      // Times -i, or i for the inverse.
      const Complex turned = {hn::Mul(sign, difference.im), hn::Neg(hn::Mul(sign, difference.re))};
      const auto put = [&](int64_t k, const Complex& v)
                           HWY_ATTR { Store(v, y, q + s.before * (4 * t + k)); };
      put(0, Plus(even, odd));
      put(1, Times(Plus(even_difference, turned), w));
      put(2, Times(Minus(even, odd), w + 2));
      put(3, Times(Minus(even_difference, turned), w + 4));
    }
  }
}

// An odd radix p. With the sums and the differences of the numbers r and p - r, which replace them
// in `x`, frequencies k and p - k are a0 + sum cos(2 pi r k / p) sum_r -+ i sin(2 pi r k / p)
// difference_r.
void RadixOdd(const FftPlan& plan, const FftPlan::Stage& s, float* x, float* y) {
  const int64_t p = s.radix;
  const FloatTag d;
  for (int64_t t = 0; t < s.after; ++t) {
    const float* const w = plan.pairs(s.twiddles + (p - 1) * t);
    for (int64_t q = 0; q < s.before; ++q) {
      const auto place = [&](int64_t r) { return q + s.before * (t + r * s.after); };
      const Complex first = Load(x, place(0));
      Complex total = first;
      for (int64_t r = 1; r <= p / 2; ++r) {
        const Complex a = Load(x, place(r));
        const Complex b = Load(x, place(p - r));
        const Complex sum = Plus(a, b);
        total = Plus(total, sum);
        Store(sum, x, place(r));
        Store(Minus(a, b), x, place(p - r));
      }
      Store(total, y, q + s.before * p * t);
      for (int64_t k = 1; k <= p / 2; ++k) {
        Complex cosines = first;
        Complex sines = {hn::Zero(d), hn::Zero(d)};
        for (int64_t r = 1; r <= p / 2; ++r) {
          const float* const root = plan.pairs(s.roots + r * k % p);
          const Complex sum = Load(x, place(r));
          const Complex difference = Load(x, place(p - r));
          const FloatVec cosine = hn::Set(d, root[0]);
          const FloatVec sine = hn::Set(d, root[1]);
          cosines = {hn::MulAdd(sum.re, cosine, cosines.re),
                     hn::MulAdd(sum.im, cosine, cosines.im)};
          sines = {hn::MulAdd(difference.re, sine, sines.re),
                   hn::MulAdd(difference.im, sine, sines.im)};
        }
        // i times the sines, whose sign is that of the transform.
        const Complex turned = {hn::Neg(sines.im), sines.re};
        Store(Times(Plus(cosines, turned), w + 2 * (k - 1)), y, q + s.before * (p * t + k));
        Store(Times(Minus(cosines, turned), w + 2 * (p - k - 1)), y,
              q + s.before * (p * t + p - k));
      }
    }
  }
}

float* RunStages(const FftPlan& plan, float* x, float* work) {
  for (const FftPlan::Stage& stage : plan.stages()) {
    if (stage.radix == 2) {
      Radix2(plan, stage, x, work);
    } else if (stage.radix == 4) {
      Radix4(plan, stage, x, work);
    } else {
      RadixOdd(plan, stage, x, work);
    }
    std::swap(x, work);
  }
  return x;
}

// Frequency k is even + exp(- pi i k / n) odd, where even and odd are the transforms of the real
// and of the imaginary parts: (z[k] + conj(z[n - k])) / 2 and (z[k] - conj(z[n - k])) / 2i.
void SplitPairs(const FftPlan& plan, const float* z, float* frequencies) {
  const FloatTag d;
  const int64_t n = plan.length();
  const FloatVec half = hn::Set(d, 0.5F);
  for (int64_t k = 0; k <= n; ++k) {
    const Complex a = Load(z, k % n);
    const Complex b = Load(z, (n - k) % n);
    const Complex even = {hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))};
    const Complex odd = {hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))};
    Store(Plus(even, Times(odd, plan.pairs(plan.halves() + k))), frequencies, k);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {
namespace {

HWY_EXPORT(LaneCount);
HWY_EXPORT(RunStages);
HWY_EXPORT(SplitPairs);

// The radices of a length: fours, then the other prime factors.
std::vector<int64_t> RadicesOf(int64_t length) {
  std::vector<int64_t> radices;
  for (; length % 4 == 0; length /= 4) radices.push_back(4);
  for (int64_t factor = 2; factor <= length / factor; ++factor) {
    for (; length % factor == 0; length /= factor) radices.push_back(factor);
  }
  if (length > 1) radices.push_back(length);
  return radices;
}

}  // namespace

int64_t FftLanes() { return HWY_DYNAMIC_DISPATCH(LaneCount)(); }

void FftPlan::AddRoot(int64_t turns, int64_t count) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(turns % count) / static_cast<double>(count);
  pairs_.push_back(static_cast<float>(std::cos(angle)));
  pairs_.push_back(static_cast<float>(inverse_ ? std::sin(angle) : -std::sin(angle)));
}

FftPlan::FftPlan(int64_t length, bool inverse) : length_(length), inverse_(inverse) {
  int64_t before = 1;
  const auto place = [this] { return static_cast<int64_t>(pairs_.size() / 2); };
  for (const int64_t radix : RadicesOf(length)) {
    const int64_t after = length / before / radix;
    Stage stage = {
        .radix = radix, .after = after, .before = before, .twiddles = place(), .roots = 0};
    for (int64_t t = 0; t < after; ++t) {
      for (int64_t k = 1; k < radix; ++k) AddRoot(t * k, after * radix);
    }
    stage.roots = place();
    for (int64_t k = 0; radix % 2 == 1 && k < radix; ++k) AddRoot(k, radix);
    stages_.push_back(stage);
    before *= radix;
  }
  halves_ = place();
  for (int64_t k = 0; k <= length; ++k) AddRoot(k, 2 * length);
}

float* FftPlan::Run(float* x, float* work) const {
  return HWY_DYNAMIC_DISPATCH(RunStages)(*this, x, work);
}

void FftPlan::SplitReal(const float* z, float* frequencies) const {
  HWY_DYNAMIC_DISPATCH(SplitPairs)(*this, z, frequencies);
}

std::shared_ptr<const FftPlan> FftPlans::Get(int64_t length, bool inverse) const {
  constexpr size_t kMost = 16;
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::pair<int64_t, bool> key(length, inverse);
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  if (plans_.size() == kMost) plans_.clear();
  return plans_[key] = std::make_shared<const FftPlan>(length, inverse);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
