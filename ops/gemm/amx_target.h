// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_TARGET_H_
#define ATTNRUN_OPS_GEMM_AMX_TARGET_H_

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

// A function that uses instructions of AMX, or of AVX-512 beside them.
#define ATTNRUN_AMX \
  __attribute__((target("amx-tile,amx-bf16,amx-int8,prfchw,avx512f,avx512bw,avx512bf16")))

namespace attnrun::ops {

// GCC does not know that tile loads and stores read and write memory, so that accesses before them
// could sink below, and those behind them rise.
inline void FinishAccesses() { asm volatile("" : : : "memory"); }

// The mask of the first `count` of 16 lanes.
inline __mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>((uint32_t{1} << std::clamp<int64_t>(count, 0, 16)) - 1);
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_TARGET_H_
