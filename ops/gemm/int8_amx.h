// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_AMX_H_
#define ATTNRUN_OPS_GEMM_INT8_AMX_H_

#include "absl/status/status.h"
#include "ops/gemm/int8_gemm.h"

namespace attnrun::ops {

// Int8Gemm for panels in the layout kAmx.
absl::Status Int8GemmOnAmx(const Int8Rows& a, const Int8Panels& b, const Int8Epilogue& epilogue,
                           Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_AMX_H_
