// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_SOFTMAX_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_SOFTMAX_EXP_INL_H_
#undef ATTNRUN_OPS_SOFTMAX_EXP_INL_H_
#else
#define ATTNRUN_OPS_SOFTMAX_EXP_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x <= 0, within 2 units in the last place; 0 below -87.3 (where the result is close to
// or beyond the smallest normal float), so for -inf; NaN for NaN, which Highway's Exp gives as 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfNonPositive(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V lowest = hn::Set(d, -87.3F);
  // exp(x) = 2^n * exp(r), |r| <= log(2) / 2. Adding 1.5 * 2^23 rounds to an integer, which then
  // is in the low bits.
  const V shifter = hn::Set(d, 12582912.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), shifter);
  const V n = hn::Sub(shifted, shifter);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  // exp(r) = 1 + r + r^2 q(r) with the q of degree 4 that is nearest to it: 3e-9 off at most.
  V q = hn::Set(d, 0x1.6a243ap-10F);
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.1239e0p-7F));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.5558f2p-5F));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.555492p-3F));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.fffffcp-2F));
  const V exp_r = hn::MulAdd(hn::Mul(r, r), q, hn::Add(r, hn::Set(d, 1.0F)));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V power = hn::BitCast(d, hn::Add(exponent, hn::Set(di, 0x3F800000)));
  // What is no number far below, too, becomes 0; NaN is not below.
  return hn::IfThenZeroElse(hn::Lt(x, lowest), hn::Mul(exp_r, power));
}

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
