// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_UNROLL_H_
#define ATTNRUN_OPS_GEMM_UNROLL_H_

#include "hwy/base.h"

// Before a loop over registers, which must be unrolled for these to stay registers. Sanitizers
// check each load of each turn, which takes the compiler ten times as long where all turns are
// written out.
#if HWY_IS_ASAN || HWY_IS_TSAN
#define ATTNRUN_UNROLL(turns)
#else
#define ATTNRUN_UNROLL(turns) HWY_UNROLL(turns)
#endif

#endif  // ATTNRUN_OPS_GEMM_UNROLL_H_
