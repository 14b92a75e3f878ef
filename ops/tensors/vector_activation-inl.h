// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_TENSORS_VECTOR_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_VECTOR_ACTIVATION_INL_H_
#undef ATTNRUN_OPS_TENSORS_VECTOR_ACTIVATION_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_VECTOR_ACTIVATION_INL_H_
#endif

#include "hwy/highway.h"
#include "ops/tensors/unary_function.h"
#include "ops/tensors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `negative` where x < 0, else x. NaN stays NaN.
template <class D, class V>
HWY_INLINE V IfNegative(D d, V x, V negative) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, x);
}

// max(0, min(1, x)). NaN stays NaN.
template <class D, class V>
HWY_INLINE V Clamp01(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return IfNegative(d, hn::IfThenElse(hn::Gt(x, one), one, x), hn::Zero(d));
}

// ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|)).
template <class D, class V>
HWY_INLINE V Softplus(D d, V x) {
  const V rest = hn::Log1p(d, AnyExp(d, hn::Neg(hn::Abs(x))));
  return hn::Add(IfNegative(d, x, hn::Zero(d)), rest);
}

// min(max(x, low), high). NaN stays NaN.
template <class D, class V>
HWY_INLINE V ClipTo(D d, V x, float low, float high) {
  const V bottom = hn::Set(d, low);
  const V top = hn::Set(d, high);
  const V raised = hn::IfThenElse(hn::Lt(x, bottom), bottom, x);
  return hn::IfThenElse(hn::Gt(raised, top), top, raised);
}

// With e = exp(x), tanh(ln(1 + e)) is e (e + 2) / (e (e + 2) + 2), which is 1 in float from x = 20
// on.
template <class D, class V>
HWY_INLINE V Mish(D d, V x) {
  const V two = hn::Set(d, 2.0F);
  const V e = hn::Exp(d, hn::Min(x, hn::Set(d, 20.0F)));
  const V n = hn::Mul(e, hn::Add(e, two));
  const V y = hn::Mul(x, hn::Div(n, hn::Add(n, two)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// Calls use(f) with the function of vectors f(d, x, parameters) of an activation that a product may
// end with; does nothing for other functions.
template <class Use>
HWY_INLINE void VisitActivation(UnaryFunction function, Use use) {
  switch (function) {
    case UnaryFunction::kRelu:
      return use([](auto d, auto x, const auto& /*p*/)
                     HWY_ATTR { return IfNegative(d, x, hn::Zero(d)); });
    case UnaryFunction::kGelu:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return Gelu(d, x); });
    case UnaryFunction::kGeluTanh:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return GeluTanh(d, x); });
    case UnaryFunction::kSwish:
      return use([](auto d, auto x, const auto& p)
                     HWY_ATTR { return TimesSigmoid(d, x, hn::Mul(hn::Set(d, p.alpha), x)); });
    case UnaryFunction::kTanh:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return hn::Tanh(d, x); });
    case UnaryFunction::kSigmoid:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return Sigmoid(d, x); });
    case UnaryFunction::kHardSigmoid:
      return use([](auto d, auto x, const auto& p) HWY_ATTR {
        return Clamp01(d, hn::MulAdd(hn::Set(d, p.alpha), x, hn::Set(d, p.beta)));
      });
    case UnaryFunction::kHardSwish:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR {
        const auto half = hn::Set(d, 0.5F);
        return hn::Mul(x, Clamp01(d, hn::MulAdd(x, hn::Set(d, 1.0F / 6), half)));
      });
    case UnaryFunction::kLeakyRelu:
      return use([](auto d, auto x, const auto& p)
                     HWY_ATTR { return IfNegative(d, x, hn::Mul(x, hn::Set(d, p.alpha))); });
    case UnaryFunction::kMish:
      return use([](auto d, auto x, const auto& /*p*/) HWY_ATTR { return Mish(d, x); });
    case UnaryFunction::kClip:
      return use([](auto d, auto x, const auto& p)
                     HWY_ATTR { return ClipTo(d, x, p.alpha, p.beta); });
    default:
      return;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
