// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_TENSORS_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_EXP_INL_H_
#undef ATTNRUN_OPS_TENSORS_EXP_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_EXP_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x <= 88, within 1.3 * 2^-24 of it. 0 below -87.7, where the result is beyond the
// smallest normal float, and so for -inf. NaN for NaN, for which Highway's Exp gives 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpBelow88(D d, V x) {
  const hn::RebindToSigned<D> di;
  // -127 * log(2): there 2^n below becomes 0. x86's maximum returns its second operand if either
  // one is NaN.
  x = hn::Max(hn::Set(d, -88.0297F), x);
  // exp(x) = 2^n * exp(r), |r| <= log(2) / 2. Adding 1.5 * 2^23 rounds to an integer n in the low
  // bits; with 127 more, they are the exponent of 2^n.
  const V shifter = hn::Set(d, 12582912.0F + 127);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), shifter);
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  // log(2) as one float is 1.9e-9 off. It is split in two parts, of which the first times n is
  // exact.
  const V n = hn::Sub(shifted, shifter);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  // exp(r) = 1 + r (1 + r q(r)) with the best q of degree 4, at most 3e-9 off. Its terms are
  // evaluated in pairs: in one chain, vectors would wait for each other's results in the
  // processor's queue.
  const V square = hn::Mul(r, r);
  const V low = hn::MulAdd(r, hn::Set(d, 0x1.555492p-3F), hn::Set(d, 0x1.fffffcp-2F));
  V q = hn::MulAdd(r, hn::Set(d, 0x1.1239e0p-7F), hn::Set(d, 0x1.5558f2p-5F));
  q = hn::MulAdd(square, hn::Set(d, 0x1.6a243ap-10F), q);
  q = hn::MulAdd(square, q, low);
  const V one = hn::Set(d, 1.0F);
  return hn::Mul(hn::MulAdd(r, hn::MulAdd(r, q, one), one), power);
}

// exp(x) for x <= 88 as ExpBelow88, but within 2^-17 of it: for results that are rounded to bf16.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoughExpBelow88(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = hn::Max(hn::Set(d, -88.0297F), x);
  // exp(x) = 2^n * 2^r, |r| <= 1/2.
  const V log2_e = hn::Set(d, 1.44269504F);
  const V shifter = hn::Set(d, 12582912.0F + 127);
  const V shifted = hn::MulAdd(x, log2_e, shifter);
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const V r = hn::MulSub(x, log2_e, hn::Sub(shifted, shifter));
  // The best polynomial of degree 4 that is 1 at 0, at most 2.9e-6 off.
  V q = hn::MulAdd(r, hn::Set(d, 0x1.3a02b8p-7F), hn::Set(d, 0x1.c9fc46p-5F));
  q = hn::MulAdd(r, q, hn::Set(d, 0x1.ec0378p-3F));
  q = hn::MulAdd(r, q, hn::Set(d, 0x1.62e12cp-1F));
  return hn::Mul(hn::MulAdd(r, q, hn::Set(d, 1.0F)), power);
}

#if HWY_TARGET <= HWY_AVX3
// 2^x within 1.1e-4 of it, for results that are rounded to bf16. 0 for -infinity, NaN for NaN.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> RoughExp2(hn::Vec<hn::ScalableTag<float>> x) {
  const hn::ScalableTag<float> d;
  // 2^x = 2^floor(x) * 2^r: one instruction gives r, and one multiplies by a power of two.
  constexpr int kLessFloor = 9;
  const hn::Vec<decltype(d)> r = {_mm512_reduce_ps(x.raw, kLessFloor)};
  // The best polynomial of degree 3 that is 1 at 0 and 2 at 1.
  auto q = hn::MulAdd(r, hn::Set(d, 0x1.4095f4p-4F), hn::Set(d, 0x1.cf7a64p-3F));
  q = hn::MulAdd(r, q, hn::Set(d, 0x1.640ea8p-1F));
  q = hn::MulAdd(r, q, hn::Set(d, 1.0F));
  return {_mm512_scalef_ps(q.raw, x.raw)};
}
#endif

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
