// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/nbit_rounding.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::RebindToSigned<Floats>;
using IntVector = hn::Vec<Ints>;

// `count` floats, but at most a vector of them, and then zeros.
HWY_ATTR HWY_INLINE Vector LoadUpTo(const float* x, int64_t count) {
  const Floats d;
  if (count >= static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, x);
  return hn::LoadN(d, x, std::max<int64_t>(count, 0));
}

// The largest magnitude of a block; NaN counts as above infinity.
HWY_ATTR HWY_INLINE float Largest(const float* x, int64_t count) {
  const Ints d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  IntVector largest = hn::Zero(d);
  for (int64_t i = 0; i < count; i += lanes) {
    // The bits of positive floats have the order of the floats.
    largest = hn::Max(largest, hn::BitCast(d, hn::Abs(LoadUpTo(x + i, count - i))));
  }
  return std::bit_cast<float>(hn::ReduceMax(d, largest));
}

// Rounds a block, of which `count` elements exist; returns the sum of the values.
HWY_ATTR HWY_INLINE int32_t RoundBlock(const float* x, int64_t count, int64_t block, float factor,
                                       int8_t* to) {
  const Ints d;
  const hn::Rebind<int8_t, Floats> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  alignas(16) static constexpr int8_t kEvenFirst[16] = {0, 2,  4,  6,  1, 3,  5,  7,
                                                        8, 10, 12, 14, 9, 11, 13, 15};
  const auto order = hn::Load(bytes, kEvenFirst);
  IntVector sum = hn::Zero(d);
  for (int64_t i = 0; i < block; i += lanes) {
    const Vector scaled = hn::Mul(LoadUpTo(x + i, count - i), hn::Set(Floats(), factor));
    const IntVector values = hn::NearestInt(scaled);
    sum = hn::Add(sum, values);
    hn::StoreU(hn::TableLookupBytes(hn::DemoteTo(bytes, values), order), bytes, to + i);
  }
  return hn::ReduceSum(d, sum);
}

void RoundRow(const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  constexpr float kLeast = 0x1p-100F;
  int8_t* values = to.values;
  float* scale = to.scales;
  int32_t* sum = to.sums;
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t count = std::min(block, k - begin);
    const float largest = Largest(x + begin, count);
    if (largest >= kLeast && std::isfinite(largest)) {
      *sum = RoundBlock(x + begin, count, block, 127 / largest, values);
      *scale = largest / 127;
    } else {
      std::fill_n(values, block, 0);
      *sum = 0;
      *scale = largest < kLeast ? 0 : std::numeric_limits<float>::quiet_NaN();
    }
    values += to.alternating * block;
    scale += to.alternating;
    sum += to.alternating;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(RoundRow);

void RoundRow(const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  HWY_DYNAMIC_DISPATCH(RoundRow)(x, k, block, to);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
