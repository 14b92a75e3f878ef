// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/activation_kernel.cc"
#include "hwy/foreach_target.h"
// Highway requires these includes after foreach_target.h.
#include "hwy/highway.h"
#include "ops/elementwise/rows-inl.h"
#include "ops/elementwise/unary.h"
#include "ops/tensors/vector_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

using P = RowParameters;

template <class D, class V>
HWY_INLINE V Selu(D d, V x, const P& p) {
  const V alpha = hn::Set(d, p.alpha);
  const V gamma = hn::Set(d, p.gamma);
  const V low = hn::Mul(gamma, hn::Mul(alpha, AnyExpm1(d, x)));
  return hn::IfThenElse(hn::Le(x, hn::Zero(d)), low, hn::Mul(gamma, x));
}

template <class D, class V>
HWY_INLINE V Celu(D d, V x, const P& p) {
  const V alpha = hn::Set(d, p.alpha);
  return IfNegative(d, x, hn::Mul(alpha, AnyExpm1(d, hn::Div(x, alpha))));
}

RowFunction VectorActivationRow(UnaryFunction function) {
  RowFunction row = nullptr;
  VisitActivation(function, [&](auto f) { row = Row1<float>(f); });
  if (row != nullptr) return row;
  switch (function) {
    case UnaryFunction::kThresholdedRelu:
      return Row1<float>([](auto d, auto x, const P& p) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(x, hn::Set(d, p.alpha)), x);
      });
    case UnaryFunction::kShrink:
      return Row1<float>([](auto d, auto x, const P& p) HWY_ATTR {
        const auto bias = hn::Set(d, p.beta);
        const auto high = hn::IfThenElseZero(hn::Gt(x, hn::Set(d, p.alpha)), hn::Sub(x, bias));
        return hn::IfThenElse(hn::Lt(x, hn::Set(d, -p.alpha)), hn::Add(x, bias), high);
      });
    case UnaryFunction::kElu:
      return Row1<float>([](auto d, auto x, const P& p) HWY_ATTR {
        return IfNegative(d, x, hn::Mul(hn::Set(d, p.alpha), AnyExpm1(d, x)));
      });
    case UnaryFunction::kSelu:
      return Row1<float>([](auto d, auto x, const P& p) HWY_ATTR { return Selu(d, x, p); });
    case UnaryFunction::kCelu:
      return Row1<float>([](auto d, auto x, const P& p) HWY_ATTR { return Celu(d, x, p); });
    case UnaryFunction::kSoftplus:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR { return Softplus(d, x); });
    case UnaryFunction::kSoftsign:
      return Row1<float>([](auto d, auto x, const P&) HWY_ATTR {
        return hn::Div(x, hn::Add(hn::Set(d, 1.0F), hn::Abs(x)));
      });
    default:
      return nullptr;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {
namespace {
HWY_EXPORT(VectorActivationRow);
}  // namespace

RowFunction ActivationRow(UnaryFunction function) {
  return HWY_DYNAMIC_DISPATCH(VectorActivationRow)(function);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
