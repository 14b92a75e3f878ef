// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_NBIT_CODES_H_
#define ATTNRUN_OPS_QUANTIZATION_NBIT_CODES_H_

#include <cstdint>

namespace attnrun::ops {

// Code `i` among codes packed into bytes, low bits first. Precondition: 8 is a multiple of `bits`.
inline int CodeAt(const uint8_t* bytes, int64_t i, int bits) {
  const int64_t per_byte = 8 / bits;
  return bytes[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1);
}

// The widths and block sizes of ONNX Runtime's operators: 2, 4 or 8 bits; powers of two from 16 on.
inline bool IsCodeWidth(int64_t bits) { return bits == 2 || bits == 4 || bits == 8; }
inline bool IsBlockSize(int64_t size) {
  constexpr int64_t kLargest = 1 << 16;
  return size >= 16 && size <= kLargest && (size & (size - 1)) == 0;
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_NBIT_CODES_H_
