// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_MINIFLOAT_H_
#define ATTNRUN_CORE_MINIFLOAT_H_

#include <cstdint>

#include "attnrun/data_type.h"

namespace attnrun {

// The value of a float16, bfloat16, float8 or float4 bit pattern, after ONNX "Float stored in 8
// bits", OCP MX v1.0 and IEEE 754-2008 binary16. Precondition: `type` is one of these.
double DecodeFloat(DataType type, uint16_t bits);

// The bit pattern nearest to `value`, ties to even. Values beyond the largest finite one,
// infinities included: with `saturate`, the float8 (float8e8m0 too) and float4 types clamp them to
// it. Without, and always for float16 and bfloat16, the result is infinity if the type has one,
// otherwise NaN if it has one, otherwise the largest finite value.
uint16_t EncodeFloat(DataType type, double value, bool saturate = true);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_MINIFLOAT_H_
