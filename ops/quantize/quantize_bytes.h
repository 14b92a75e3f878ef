#ifndef ATTNRUN_OPS_QUANTIZE_QUANTIZE_BYTES_H_
#define ATTNRUN_OPS_QUANTIZE_QUANTIZE_BYTES_H_

#include <cstddef>

namespace attnrun {

// One scale and zero point for all elements, which are int8 or uint8.
struct ByteScale {
  float scale = 1;
  float zero_point = 0;
  bool is_signed = false;
};

// out[i] = round(x[i] / scale) + zero_point, to even where it is in the middle, within the type's
// range; NaN gives its least number. i < n, on the calling thread.
void QuantizeBytes(const float* x, size_t n, const ByteScale& by, void* out);

// out[i] = (x[i] - zero_point) * scale.
void DequantizeBytes(const void* x, size_t n, const ByteScale& by, float* out);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_QUANTIZE_QUANTIZE_BYTES_H_
