// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_TENSORS_ROUGH_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_ROUGH_ACTIVATION_INL_H_
#undef ATTNRUN_OPS_TENSORS_ROUGH_ACTIVATION_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_ROUGH_ACTIVATION_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "ops/tensors/exp-inl.h"
#include "ops/tensors/unary_function.h"
#include "ops/tensors/vector_activation-inl.h"

// Activations in about half the instructions of vector_math-inl.h, for arguments that are sums of
// rounded products: bf16 has a relative error of 2^-9, these have less than 2^-14 max(1, |y|).
HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x F(x) for a distribution function F near x P(x^2) + 1/2, with P's highest power first. Where P
// is no longer close, it is positive, and F is clamped to 1, or to 0 for negative x. NaN for NaN
// and -infinity: x86's minimum and maximum return their second operand if either one is NaN.
template <class D, class V, size_t kTerms>
HWY_INLINE V TimesDistribution(D d, V x, const float (&p)[kTerms]) {
  const V square = hn::Mul(x, x);
  V q = hn::Set(d, p[0]);
  for (size_t i = 1; i < kTerms; ++i) q = hn::MulAdd(q, square, hn::Set(d, p[i]));
  const V f = hn::MulAdd(q, x, hn::Set(d, 0.5F));
  return hn::Mul(x, hn::Max(hn::Zero(d), hn::Min(hn::Set(d, 1.0F), f)));
}

// Gelu within 3.6e-5 max(1, |y|). P is the best polynomial for errors times |x| with F(4.39) = 1,
// by linear programming.
template <class D, class V>
HWY_INLINE V RoughGelu(D d, V x) {
  constexpr float kP[] = {3.577965701e-11F, -3.760599387e-9F, 1.742936320e-7F,
                          -4.728448403e-6F, 8.432858885e-5F,  -1.055198256e-3F,
                          9.643685073e-3F,  -6.607744098e-2F, 3.987621367e-1F};
  return TimesDistribution(d, x, kP);
}

// GeluTanh within 2.9e-5 max(1, |y|), with F(4.24) = 1.
template <class D, class V>
HWY_INLINE V RoughGeluTanh(D d, V x) {
  constexpr float kP[] = {5.280531221e-11F, -5.181783891e-9F, 2.241902735e-7F,
                          -5.683728887e-6F, 9.509910160e-5F,  -1.126560383e-3F,
                          9.898433462e-3F,  -6.644364446e-2F, 3.987831771e-1F};
  return TimesDistribution(d, x, kP);
}

// x / (1 + exp(-argument)) within 2^-17 |y|, or within 1e-36 where the result is 0. At 88.5 the
// exponential is infinite, so that -infinity gives NaN as in TimesSigmoid.
template <class D, class V>
HWY_INLINE V RoughTimesSigmoid(D d, V x, V argument) {
  const V e = RoughExpBelow88(d, hn::Min(hn::Set(d, 88.5F), hn::Neg(argument)));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), e));
}

// As VisitActivation, for functions f that may be rough.
template <class Use>
HWY_INLINE void VisitRoughActivation(UnaryFunction function, Use use) {
  switch (function) {
    case UnaryFunction::kGelu:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return RoughGelu(d, x); });
    case UnaryFunction::kGeluTanh:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return RoughGeluTanh(d, x); });
    case UnaryFunction::kSwish:
      return use([](auto d, auto x, const auto& p)
                     HWY_ATTR { return RoughTimesSigmoid(d, x, hn::Mul(hn::Set(d, p.alpha), x)); });
    default:
      return VisitActivation(function, use);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
