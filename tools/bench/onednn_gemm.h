// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_ONEDNN_GEMM_H_
#define ATTNRUN_TOOLS_BENCH_ONEDNN_GEMM_H_

#include <cstdint>
#include <functional>

// What attnrun's GEMM is measured against. Both compute C[M,N] = A[M,K]·B[K,N] of dense floats; B
// is packed when they are made.
namespace attnrun::bench {

using Product = std::function<void()>;

// oneDNN's matmul primitive with a weight layout of its choice.
Product OneDnnMatmul(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c);

// oneDNN's brgemm micro-kernels under a plain driver: blocks of 64 columns (32 without AVX-512),
// 384 of K and 48 rows. Null where the library was built without them.
Product OneDnnBrgemm(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_ONEDNN_GEMM_H_
