// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_TENSORS_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_BF16_INL_H_
#undef ATTNRUN_OPS_TENSORS_BF16_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_BF16_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bits of the nearest bf16, ties to even, in the upper half of each 32 bits. NaN stays NaN.
template <typename V>
HWY_INLINE auto RoundedBits(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<hn::DFromV<V>> bits;
  const auto word = hn::BitCast(bits, x);
  // Half of the last bit that stays, less one if that bit is 0: ties go to even.
  const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(bits, 1U));
  const auto rounded = hn::Add(word, hn::Add(odd, hn::Set(bits, 0x7FFFU)));
  const auto quiet = hn::Or(word, hn::Set(bits, 0x400000U));
  const auto is_nan = hn::RebindMask(bits, hn::IsNaN(hn::BitCast(d, word)));
  return hn::And(hn::IfThenElse(is_nan, quiet, rounded), hn::Set(bits, 0xFFFF0000U));
}

#if HWY_TARGET <= HWY_AVX3
// The lanes of x as bf16, to nearest with ties to even; numbers below 2^-126 become 0. Highway has
// this instruction only in targets that need more. Every processor with AMX has it.
HWY_INLINE hn::Vec<hn::CappedTag<uint16_t, 16>> RoundedOnAmx(hn::Vec<hn::ScalableTag<float>> x) {
  hn::Vec<hn::CappedTag<uint16_t, 16>> halves;
  asm("vcvtneps2bf16 %1, %0" : "=v"(halves.raw) : "v"(x.raw));
  return halves;
}
// As above, of two vectors, one after the other.
HWY_INLINE hn::Vec<hn::ScalableTag<uint16_t>> RoundedOnAmx(hn::Vec<hn::ScalableTag<float>> low,
                                                           hn::Vec<hn::ScalableTag<float>> high) {
  hn::Vec<hn::ScalableTag<uint16_t>> halves;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves.raw) : "v"(low.raw), "v"(high.raw));
  return halves;
}
#endif

// Stores the first `count` lanes of x, or all if it has no more, rounded to bf16 for a product on
// AMX: where the instruction above is used, numbers below 2^-126 become 0, as they count there.
HWY_INLINE void StoreBf16ForAmx(hn::Vec<hn::ScalableTag<float>> x, uint16_t* HWY_RESTRICT to,
                                size_t count) {
  const hn::Rebind<uint16_t, hn::ScalableTag<float>> halves;
#if HWY_TARGET <= HWY_AVX3
  const auto rounded = RoundedOnAmx(x);
#else
  const auto rounded = hn::TruncateTo(halves, hn::ShiftRight<16>(RoundedBits(x)));
#endif
  // Between tile instructions, masks are not free.
  if (count >= hn::Lanes(halves)) return hn::StoreU(rounded, halves, to);
  hn::StoreN(rounded, halves, to, count);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
