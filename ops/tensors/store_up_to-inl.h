// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_TENSORS_STORE_UP_TO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_TENSORS_STORE_UP_TO_INL_H_
#undef ATTNRUN_OPS_TENSORS_STORE_UP_TO_INL_H_
#else
#define ATTNRUN_OPS_TENSORS_STORE_UP_TO_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Stores the first `count` elements of `v`, or all if it has no more. AVX2's masked stores take
// AMD's cores a dozen cycles each, so whole vectors are stored without a mask; AVX-512's masks cost
// nothing.
template <typename D>
HWY_INLINE void StoreUpTo(hn::Vec<D> v, D d, hn::TFromD<D>* HWY_RESTRICT to, size_t count) {
  if (HWY_TARGET > HWY_AVX3 && count >= hn::Lanes(d)) {
    hn::StoreU(v, d, to);
  } else {
    hn::StoreN(v, d, to, count);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
