// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_TENSORS_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_MOMENTS_INL_H_
#undef ATTNRUN_OPS_TENSORS_MOMENTS_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_MOMENTS_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

// The first `count` floats in a vector; the other lanes are 0.
HWY_INLINE FloatVec LoadSome(const float* HWY_RESTRICT x, size_t count) {
  const FloatTag d;
  return count >= hn::Lanes(d) ? hn::LoadU(d, x) : hn::LoadN(d, x, count);
}

// A sum in four parts, which hides the latency of the additions and keeps their rounding errors
// small.
struct Sum {
  HWY_ATTR Sum() : parts{hn::Zero(kTag), hn::Zero(kTag), hn::Zero(kTag), hn::Zero(kTag)} {}
  HWY_ATTR float Total() const {
    return hn::ReduceSum(kTag, hn::Add(hn::Add(parts[0], parts[1]), hn::Add(parts[2], parts[3])));
  }

  static constexpr FloatTag kTag{};
  FloatVec parts[4];
};

// Calls add(part, v, valid) for the vectors of x[0, n), with `part` 0 to 3 in turn. Lanes beyond
// the end are 0 in v and false in the mask `valid`.
template <typename Add>
HWY_INLINE void ForEachVector(const float* HWY_RESTRICT x, size_t n, Add add) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const auto all = hn::FirstN(d, lanes);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    add(0, hn::LoadU(d, x + i), all);
    add(1, hn::LoadU(d, x + i + lanes), all);
    add(2, hn::LoadU(d, x + i + 2 * lanes), all);
    add(3, hn::LoadU(d, x + i + 3 * lanes), all);
  }
  for (; i + lanes <= n; i += lanes) add(0, hn::LoadU(d, x + i), all);
  if (i < n) add(1, hn::LoadN(d, x + i, n - i), hn::FirstN(d, n - i));
}

// The mean is mean + correction. The correction is the rounding error of `mean`, which matters if
// the mean is far larger than the deviations from it.
struct Moments {
  float mean = 0;
  float correction = 0;
  // The mean square of the deviations.
  float variance = 0;
};

// Mean and variance of a row. Precondition: n > 0.
HWY_INLINE Moments CenteredMoments(const float* HWY_RESTRICT x, size_t n) {
  const FloatTag d;
  const float share = 1.0F / static_cast<float>(n);
  Moments moments;
  Sum sum;
  ForEachVector(x, n, [&](int part, FloatVec v, auto /*valid*/) HWY_ATTR {
    sum.parts[part] = hn::Add(sum.parts[part], v);
  });
  moments.mean = sum.Total() * share;
  const FloatVec mean = hn::Set(d, moments.mean);
  Sum deviations;
  Sum squares;
  ForEachVector(x, n, [&](int part, FloatVec v, auto valid) HWY_ATTR {
    const FloatVec deviation = hn::IfThenElseZero(valid, hn::Sub(v, mean));
    deviations.parts[part] = hn::Add(deviations.parts[part], deviation);
    squares.parts[part] = hn::MulAdd(deviation, deviation, squares.parts[part]);
  });
  moments.correction = deviations.Total() * share;
  moments.variance = squares.Total() * share;
  // Both squares may be beyond the largest float.
  if (moments.variance < std::numeric_limits<float>::infinity()) {
    // Rounding may make it negative.
    moments.variance -= moments.correction * moments.correction;
    if (moments.variance < 0) moments.variance = 0;
  }
  return moments;
}

// Moments around 0: the mean is 0 and the variance the mean square. Precondition: n > 0.
HWY_INLINE Moments RawMoments(const float* HWY_RESTRICT x, size_t n) {
  Sum squares;
  ForEachVector(x, n, [&](int part, FloatVec v, auto /*valid*/) HWY_ATTR {
    squares.parts[part] = hn::MulAdd(v, v, squares.parts[part]);
  });
  return {.variance = squares.Total() / static_cast<float>(n)};
}

// y[i] = map(x[i], i, count) for vectors of `count` elements that begin at i; y may be x.
template <typename Map>
HWY_INLINE void MapRow(const float* x, size_t n, float* y, Map map) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(map(hn::LoadU(d, x + i), i, lanes), d, y + i);
  if (i < n) hn::StoreN(map(hn::LoadN(d, x + i, n - i), i, n - i), d, y + i, n - i);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
