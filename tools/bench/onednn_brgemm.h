// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_ONEDNN_BRGEMM_H_
#define ATTNRUN_TOOLS_BENCH_ONEDNN_BRGEMM_H_

#include <cstdint>

#include "bench/turns.h"

// oneDNN's brgemm micro-kernels for operands below float32, under a plain driver: C[M,N] =
// A[M,K]·B[K,N], with B packed at construction in panels of 64 columns. M must be a multiple of 16,
// K and N of 64. Null if oneDNN was built without them, or lacks them for this processor.
namespace attnrun::bench {

// bfloat16, summed in float32.
Product OneDnnBf16Brgemm(int64_t m, int64_t k, int64_t n, const uint16_t* a, const uint16_t* b,
                         float* c);
// Summed in int32.
Product OneDnnInt8Brgemm(int64_t m, int64_t k, int64_t n, const uint8_t* a, const int8_t* b,
                         int32_t* c);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_ONEDNN_BRGEMM_H_
