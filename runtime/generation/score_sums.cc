// SPDX-License-Identifier: Apache-2.0
#include "generation/score_sums.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "generation/score_sums.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::gen::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// Calls each(vector) for all scores; the last vector is filled up with -infinity.
template <class F>
HWY_ATTR HWY_INLINE void ForEachVector(absl::Span<const float> scores, F each) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= scores.size(); i += lanes) each(hn::LoadU(d, scores.data() + i));
  if (i == scores.size()) return;
  // Unlike MaskedLoadOr, this reads nothing beyond the scores.
  each(hn::LoadNOr(hn::Neg(hn::Inf(d)), d, scores.data() + i, scores.size() - i));
}

HWY_ATTR float LargestScore(absl::Span<const float> scores) {
  const Floats d;
  Vector largest = hn::Neg(hn::Inf(d));
  auto is_nan = hn::MaskFalse(d);
  ForEachVector(scores, [&](Vector x) HWY_ATTR {
    is_nan = hn::Or(is_nan, hn::IsNaN(x));
    largest = hn::Max(largest, x);
  });
  if (!hn::AllFalse(d, is_nan)) return std::numeric_limits<float>::quiet_NaN();
  return hn::ReduceMax(d, largest);
}

HWY_ATTR double SumOfExponentials(absl::Span<const float> scores, float largest) {
  const Floats d;
  const hn::Repartition<double, Floats> wide;
  const Vector subtrahend = hn::Set(d, largest);
  auto lower = hn::Zero(wide);
  auto upper = hn::Zero(wide);
  ForEachVector(scores, [&](Vector x) HWY_ATTR {
    // Highway's function gives 0 for NaN.
    const Vector term = hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Sub(x, subtrahend)));
    lower = hn::Add(lower, hn::PromoteLowerTo(wide, term));
    upper = hn::Add(upper, hn::PromoteUpperTo(wide, term));
  });
  return hn::ReduceSum(wide, hn::Add(lower, upper));
}

}  // namespace attnrun::gen::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::gen {

HWY_EXPORT(LargestScore);
HWY_EXPORT(SumOfExponentials);

float LargestScore(absl::Span<const float> scores) {
  return HWY_DYNAMIC_DISPATCH(LargestScore)(scores);
}

double SumOfExponentials(absl::Span<const float> scores, float largest) {
  return HWY_DYNAMIC_DISPATCH(SumOfExponentials)(scores, largest);
}

}  // namespace attnrun::gen
#endif  // HWY_ONCE
