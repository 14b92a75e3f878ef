// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_VNNI_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_VNNI_INL_H_
#undef ATTNRUN_OPS_GEMM_VNNI_INL_H_
#else
#define ATTNRUN_OPS_GEMM_VNNI_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// sum += four products of uint8 in `a` and int8 in `b` for each 32 bits, without saturation.
// Highway has this instruction only in targets that need more than VNNI; callers look at Cpu::vnni.
template <class Sum, class A, class B>
HWY_INLINE void AddVnni(Sum& sum, A a, B b) {
#if HWY_TARGET <= HWY_AVX3
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
#elif HWY_TARGET == HWY_AVX2
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
#endif
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
