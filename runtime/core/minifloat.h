// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_MINIFLOAT_H_
#define ATTNRUN_CORE_MINIFLOAT_H_

#include <cstdint>

#include "attnrun/data_type.h"

namespace attnrun {

// The value of a float16, bfloat16, float8 or float4 bit pattern (ONNX "Float stored in 8 bits",
// OCP MX v1.0, IEEE 754-2008 binary16). Precondition: `type` is one of those.
double DecodeFloat(DataType type, uint16_t bits);

// The bit pattern nearest to `value`, ties to even. Beyond the largest finite value: with
// `saturate` the float8 and float4 types keep it (float8e8m0 too), infinities included; without,
// and always for float16 and bfloat16, the result is infinity where the type has one, else NaN
// where it has one.
uint16_t EncodeFloat(DataType type, double value, bool saturate = true);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_MINIFLOAT_H_
