// SPDX-License-Identifier: Apache-2.0
// Functions on whole float vectors that Highway does not have, or not for every input. Included
// once per Highway target.
#if defined(ATTNRUN_OPS_TENSORS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_VECTOR_MATH_INL_H_
#undef ATTNRUN_OPS_TENSORS_VECTOR_MATH_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_VECTOR_MATH_INL_H_
#endif

#include <cmath>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Applies f to every lane, for functions and arguments that no vector code covers.
template <class D, class V>
HWY_NOINLINE V MapLanes(D d, V x, float (*f)(float)) {
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}

// The larger and the smaller of two numbers; NaN if either is.
template <class D, class V>
HWY_INLINE V MaxOrNaN(D /*d*/, V a, V b) {
  return hn::IfThenElse(hn::IsEitherNaN(a, b), hn::Add(a, b), hn::Max(a, b));
}
template <class D, class V>
HWY_INLINE V MinOrNaN(D /*d*/, V a, V b) {
  return hn::IfThenElse(hn::IsEitherNaN(a, b), hn::Add(a, b), hn::Min(a, b));
}

// exp(x) for every x, infinities and NaN included; within 1 ulp.
template <class D, class V>
HWY_INLINE V AnyExp(D d, V x) {
  const V y = hn::Exp(d, hn::Min(x, hn::Set(d, 104.0F)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// exp(x) - 1 for every x.
template <class D, class V>
HWY_INLINE V AnyExpm1(D d, V x) {
  const V y = hn::Expm1(d, hn::Min(x, hn::Set(d, 104.0F)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// ln(x) for every x: -infinity at 0, NaN below.
template <class D, class V>
HWY_INLINE V AnyLog(D d, V x) {
  const V infinity = hn::Inf(d);
  const V y = hn::IfThenElse(hn::Lt(x, infinity), hn::Log(d, x), x);
  const V at_zero = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NaN(d), at_zero);
}

// sin(x) and cos(x) for every x. Highway's functions lose all digits beyond kFarthestAngle, which
// the positions of a long context exceed at the highest rotary frequency.
inline constexpr float kFarthestAngle = 39000;

template <class D, class V>
HWY_INLINE V AnySin(D d, V x) {
  const auto far = hn::Gt(hn::Abs(x), hn::Set(d, kFarthestAngle));
  const V y = hn::Sin(d, x);
  if (HWY_LIKELY(hn::AllFalse(d, far))) return y;
  return hn::IfThenElse(far, MapLanes(d, x, std::sin), y);
}

template <class D, class V>
HWY_INLINE V AnyCos(D d, V x) {
  const auto far = hn::Gt(hn::Abs(x), hn::Set(d, kFarthestAngle));
  const V y = hn::Cos(d, x);
  if (HWY_LIKELY(hn::AllFalse(d, far))) return y;
  return hn::IfThenElse(far, MapLanes(d, x, std::cos), y);
}

// 1 / (1 + exp(-x)).
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, AnyExp(d, hn::Neg(x))));
}

// x / (1 + exp(-argument)). With argument alpha x it is Swish, with x SiLU, and with 2u the tanh
// form of Gelu, x (1 + tanh(u)) / 2, since (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)).
template <class D, class V>
HWY_INLINE V TimesSigmoid(D d, V x, V argument) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), AnyExp(d, hn::Neg(argument))));
}

// The normal distribution's upper tail for a >= 0: erfc(a / sqrt(2)) / 2.
//   exp(-a^2 / 2) s P(u),  s = 1 / (a + k),  u = 1 - 2 k s,  k = 3 sqrt(2)
// maps all a to [-1, 1], where erfc(z) exp(z^2) / s is close to a polynomial. P is the minimax
// polynomial of degree 9 (relative error 2.3e-9), by a Remez exchange in 40-digit arithmetic.
template <class D, class V>
HWY_INLINE V NormalTail(D d, V a) {
  constexpr float kShift = 4.242640687F;
  // Beyond this the result is 0 in float.
  a = hn::Min(a, hn::Set(d, 14.6F));
  const V s = hn::Div(hn::Set(d, 1.0F), hn::Add(a, hn::Set(d, kShift)));
  const V u = hn::NegMulAdd(hn::Set(d, 2 * kShift), s, hn::Set(d, 1.0F));
  V p = hn::Set(d, -0.0002295085335F);
  p = hn::MulAdd(p, u, hn::Set(d, -0.0003406242727F));
  p = hn::MulAdd(p, u, hn::Set(d, 0.002178338068F));
  p = hn::MulAdd(p, u, hn::Set(d, -0.0008677563292F));
  p = hn::MulAdd(p, u, hn::Set(d, -0.01897882845F));
  p = hn::MulAdd(p, u, hn::Set(d, 0.08451990629F));
  p = hn::MulAdd(p, u, hn::Set(d, -0.2195325869F));
  p = hn::MulAdd(p, u, hn::Set(d, 0.4173544268F));
  p = hn::MulAdd(p, u, hn::Set(d, -0.6246542330F));
  p = hn::MulAdd(p, u, hn::Set(d, 0.7594375676F));
  // The exponential would magnify the rounding error of a^2 by a^2 / 2: it is carried along.
  const V square = hn::Mul(a, a);
  const V lost = hn::MulSub(a, a, square);
  const V minus_half = hn::Set(d, -0.5F);
  const V e = hn::Exp(d, hn::Mul(square, minus_half));
  const V corrected = hn::MulAdd(hn::Mul(lost, minus_half), e, e);
  return hn::Mul(hn::Mul(corrected, s), p);
}

// x times the normal distribution function: x (1 + erf(x / sqrt(2))) / 2 = max(x, 0) - |x| t with
// the tail t = erfc(|x| / sqrt(2)) / 2. Up to 5.5, beyond which little is left of it, the tail is
// (1 - |x| / 8)^16 P(|x|). The first factor falls about as fast, so that a polynomial of degree 12
// is enough: by a Remez exchange in 40-digit arithmetic, at most 5e-9 off. The result y is within
// 2.4e-7 max(1, |y|), where 1 + erf in float would be 1e-6 off. Evaluated in pairs (Estrin), since
// one long chain would wait for itself.
template <class D, class V>
HWY_INLINE V Gelu(D d, V x) {
  constexpr float kEnd = 5.5F;
  const V one = hn::Set(d, 1.0F);
  const V a = hn::Abs(x);
  const V p0 = hn::MulAdd(hn::Set(d, 0.6010464622F), a, hn::Set(d, 0.5000002538F));
  const V p2 = hn::MulAdd(hn::Set(d, 0.0148250593F), a, hn::Set(d, 0.264754884F));
  const V p4 = hn::MulAdd(hn::Set(d, -0.01432460247F), a, hn::Set(d, -0.02722623317F));
  const V p6 = hn::MulAdd(hn::Set(d, -0.003736340476F), a, hn::Set(d, 0.006554246538F));
  const V p8 = hn::MulAdd(hn::Set(d, -0.0009614299135F), a, hn::Set(d, 0.002679570697F));
  const V p10 = hn::MulAdd(hn::Set(d, -1.623926388e-5F), a, hn::Set(d, 0.0001757874924F));
  const V p12 = hn::Set(d, 6.08290749e-7F);
  const V a2 = hn::Mul(a, a);
  const V a4 = hn::Mul(a2, a2);
  const V top = hn::MulAdd(p12, a4, hn::MulAdd(p10, a2, p8));
  const V high = hn::MulAdd(top, a4, hn::MulAdd(p6, a2, p4));
  const V p = hn::MulAdd(high, a4, hn::MulAdd(p2, a2, p0));
  const V f = hn::NegMulAdd(a, hn::Set(d, 0.125F), one);
  const V f2 = hn::Mul(f, f);
  const V f4 = hn::Mul(f2, f2);
  const V f8 = hn::Mul(f4, f4);
  const V tail = hn::Mul(hn::Mul(hn::Mul(a, f8), f8), p);
  // Multiplies by 0 rather than select 0: NaN for NaN and -infinity, as the formula gives.
  const V step = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  return hn::MulSub(x, step, hn::IfThenElseZero(hn::Lt(a, hn::Set(d, kEnd)), tail));
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
template <class D, class V>
HWY_INLINE V GeluTanh(D d, V x) {
  constexpr float kTwiceScale = 1.595769122F;
  const V inner =
      hn::MulAdd(hn::Set(d, kTwiceScale * 0.044715F), hn::Mul(x, x), hn::Set(d, kTwiceScale));
  return TimesSigmoid(d, x, hn::Mul(x, inner));
}

// erf(x). Below 1 in magnitude it is x + x P(x^2), where 1 + P is the minimax polynomial of degree
// 6 of erf(x) / x in x^2 (relative error 1.3e-9, by a Remez exchange as above); beyond, it is
// computed from the tail. Within 2 ulp.
template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V one = hn::Set(d, 1.0F);
  const V w = hn::Mul(x, x);
  V p = hn::Set(d, 7.853860969e-5F);
  p = hn::MulAdd(p, w, hn::Set(d, -0.00080101935F));
  p = hn::MulAdd(p, w, hn::Set(d, 0.00518832767F));
  p = hn::MulAdd(p, w, hn::Set(d, -0.02685381193F));
  p = hn::MulAdd(p, w, hn::Set(d, 0.1128358515F));
  p = hn::MulAdd(p, w, hn::Set(d, -0.3761262582F));
  p = hn::MulAdd(p, w, hn::Set(d, 0.128379166F));
  const V tail = NormalTail(d, hn::Mul(magnitude, hn::Set(d, 1.414213562F)));
  const V far = hn::CopySign(hn::NegMulAdd(hn::Set(d, 2.0F), tail, one), x);
  const V y = hn::IfThenElse(hn::Lt(magnitude, one), hn::MulAdd(x, p, x), far);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ATTNRUN_OPS_TENSORS_VECTOR_MATH_INL_H_
