// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_QDQ_QUANTIZE_INTEGERS_H_
#define ATTNRUN_OPS_QUANTIZATION_QDQ_QUANTIZE_INTEGERS_H_

#include <cstddef>
#include <cstdint>

#include "attnrun/tensor.h"

namespace attnrun::ops {

// One scale and zero point for all elements, integers of 8 or 16 bits.
struct IntegerScale {
  float scale = 1;
  float zero_point = 0;
  DataType type = DataType::kUint8;
};

// True for the integer types of 8 and 16 bits.
inline bool IsShortInteger(DataType type) {
  return type == DataType::kUint8 || type == DataType::kInt8 || type == DataType::kUint16 ||
         type == DataType::kInt16;
}

// out[i] = round(x[i] / scale) + zero_point, halves to even, clamped to the type's range; NaN gives
// the least number. i < n, on the calling thread.
void QuantizeIntegers(const float* x, size_t n, const IntegerScale& by, void* out);

// Quantizes n floats as DynamicQuantizeLinear does, on up to NumThreads() threads. The result does
// not depend on threads.
IntegerScale QuantizeToOwnRange(const float* x, int64_t n, uint8_t* out);

// out[i] = (x[i] - zero_point) * scale.
void DequantizeIntegers(const void* x, size_t n, const IntegerScale& by, float* out);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_QDQ_QUANTIZE_INTEGERS_H_
