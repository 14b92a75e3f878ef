// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_NBIT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_NBIT_ROWS_INL_H_
#undef ATTNRUN_OPS_GEMM_NBIT_ROWS_INL_H_
#else
#define ATTNRUN_OPS_GEMM_NBIT_ROWS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

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

// `count` floats, as LoadUpTo has them, times `factor` and rounded to nearest, ties to even.
HWY_ATTR HWY_INLINE IntVector RoundUpTo(const float* x, int64_t count, float factor) {
  return hn::NearestInt(hn::Mul(LoadUpTo(x, count), hn::Set(Floats(), factor)));
}

// Stores numbers that fit 8 bits, of each 8 neighbours the even ones first, as codes of 4 bits lie
// in the bytes of their words.
HWY_ATTR HWY_INLINE void StoreEvenFirst(IntVector values, int8_t* to) {
  const hn::Rebind<int8_t, Floats> bytes;
  alignas(16) static constexpr int8_t kEvenFirst[16] = {0, 2,  4,  6,  1, 3,  5,  7,
                                                        8, 10, 12, 14, 9, 11, 13, 15};
  const auto order = hn::Load(bytes, kEvenFirst);
  hn::StoreU(hn::TableLookupBytes(hn::DemoteTo(bytes, values), order), bytes, to);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
