// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_ONEDNN_GEMM_H_
#define ATTNRUN_TOOLS_BENCH_ONEDNN_GEMM_H_

#include <cstdint>

#include "bench/turns.h"

// The products that attnrun's GEMM is compared with. Both compute C[M,N] = A[M,K]·B[K,N] on dense
// floats, with B packed at construction.
namespace attnrun::bench {

// oneDNN's matmul primitive, with the weight layout that it chooses.
Product OneDnnMatmul(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c);

// oneDNN's brgemm micro-kernels under a plain driver, in blocks of 64 columns (32 without AVX-512),
// 384 of K and 48 rows. Null if oneDNN was built without them.
Product OneDnnBrgemm(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_ONEDNN_GEMM_H_
