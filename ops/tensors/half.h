// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_HALF_H_
#define ATTNRUN_OPS_TENSORS_HALF_H_

#include <cstdint>

// Conversions between floats and numbers of 2 bytes, `count` of them. Narrowing rounds to nearest,
// ties to even.
namespace attnrun::ops {

// NaN stays NaN.
void NarrowToBf16(const float* from, int64_t count, uint16_t* to);
void WidenBf16(const uint16_t* from, int64_t count, float* to);
void NarrowToFloat16(const float* from, int64_t count, uint16_t* to);
void WidenFloat16(const uint16_t* from, int64_t count, float* to);

// Replaces each float by the nearest bf16.
void RoundToBf16(float* floats, int64_t count);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_HALF_H_
