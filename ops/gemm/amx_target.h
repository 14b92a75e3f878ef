// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_TARGET_H_
#define ATTNRUN_OPS_GEMM_AMX_TARGET_H_

// A function that uses instructions of AMX, or of AVX-512 beside them.
#define ATTNRUN_AMX \
  __attribute__((target("amx-tile,amx-bf16,amx-int8,prfchw,avx512f,avx512bw,avx512bf16")))

namespace attnrun::ops {

// GCC does not know that tile loads and stores read and write memory, so that accesses before them
// could sink below, and those behind them rise.
inline void FinishAccesses() { asm volatile("" : : : "memory"); }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_TARGET_H_
