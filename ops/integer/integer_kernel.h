#ifndef ATTNRUN_OPS_INTEGER_INTEGER_KERNEL_H_
#define ATTNRUN_OPS_INTEGER_INTEGER_KERNEL_H_

#include <cstdint>

#include "ops/matmul/activation.h"
#include "ops/matmul/micro_kernel.h"

namespace attnrun {

// Some rows of A times one panel of B, in exact integers (modulo 2^32): S = A·(B + offsets).
// Then C is S itself, or floats made of it.
struct IntegerProduct {
  // [rows, 2 * pairs], `lda` numbers from row to row, each of [-255, 255].
  const int16_t* a;
  int64_t lda;
  // [pairs, IntegerPanelWidth(), 2].
  const int8_t* b;
  int64_t pairs;
  int64_t rows;
  // At most IntegerPanelWidth().
  int64_t columns;
  // [columns], or null for none; then `row_sums` [rows] are those of A.
  const int32_t* offsets;
  const int32_t* row_sums;
  // C is S, [rows, columns], `ldc` numbers from row to row; or null: `c` is written instead.
  int32_t* sums;
  // C = activation(S * scales + bias) + residual; scales and bias [columns], bias may be null.
  float* c;
  int64_t ldc;
  const float* scales;
  const float* bias;
  Activation activation;
  TileResidual residual;
};

void MultiplyIntegers(const IntegerProduct& product);

// Columns of a panel of B that suits this machine's registers.
int64_t IntegerPanelWidth();

// out[i] = in[i] - zero, i < count, of int8 (`is_signed`) or uint8; returns their sum.
int32_t CentreIntegers(const void* in, bool is_signed, int32_t zero, int64_t count, int16_t* out);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_INTEGER_INTEGER_KERNEL_H_
