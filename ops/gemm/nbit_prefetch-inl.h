// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_NBIT_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_NBIT_PREFETCH_INL_H_
#undef ATTNRUN_OPS_GEMM_NBIT_PREFETCH_INL_H_
#else
#define ATTNRUN_OPS_GEMM_NBIT_PREFETCH_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Bytes from the words in use to those that are prefetched into the second-level cache and into the
// first. Memory answers after some hundred nanoseconds, and the hardware's own prefetches stop at
// every 4 KB.
constexpr int64_t kFarAhead = 8 * 1024;
constexpr int64_t kAhead = 3 * 512;
constexpr int64_t kLine = 64;

// Prefetches words that follow `words`, those far ahead up to `last`.
HWY_INLINE void PrefetchWords(const uint8_t* words, const uint8_t* last) {
  constexpr int kSecondLevel = 2;
  constexpr int64_t kLines =
      kNarrow * static_cast<int64_t>(hwy::HWY_NAMESPACE::MaxLanes(Floats())) * 4 / kLine;
  const uint8_t* const far = std::min(words + kFarAhead, last);
  for (int64_t v = 0; v < kLines; ++v) {
    __builtin_prefetch(far + v * kLine, 0, kSecondLevel);
    hwy::Prefetch(words + kAhead + v * kLine);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
