// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_GEMM_BENCHES_H_
#define ATTNRUN_TOOLS_BENCH_GEMM_BENCHES_H_

#include <cstdint>

#include "benchmark/benchmark.h"

// Benchmarks of products, by the type of their operands.
namespace attnrun::bench {

// Range: M, K, N. Reports GFLOP/s and shares of the measured peak.
void Float32Gemm(benchmark::State& state);
void Bf16Gemm(benchmark::State& state);
void Int8Gemm(benchmark::State& state);

// Range: K, N. One row times weights that are in no cache: it rotates through more weights than the
// caches hold. Reports shares of the measured read bandwidth.
void Float32Gemv(benchmark::State& state);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_GEMM_BENCHES_H_
