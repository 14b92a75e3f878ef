// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_KERNEL_H_
#define ATTNRUN_OPS_GEMM_INT8_KERNEL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/gemm/activation.h"
#include "ops/gemm/micro_kernel.h"

namespace attnrun::ops {

// How a step of the product multiplies 32 bits of a row of A, two or four numbers, by as many rows
// of B.
enum class Int8Layout {
  // Two int16 of [-255, 255] times two int8, summed in 32 bits.
  kInt16x2,
  // Four uint8 times four int8. Products of neighbours are summed in 16 bits with saturation, so B
  // holds pairs whose sum is within [-128, 128], and corrections.
  kInt8x4,
  // Four uint8 times four int8, summed in 32 bits, by one instruction of VNNI.
  kVnni,
  // As kVnni, in panels and steps for tiles (see amx.h).
  kAmx,
};

// The layout of exact sums on this machine, where it has one that needs no corrections; else
// kInt8x4.
Int8Layout BestInt8Layout();

constexpr int64_t RowsPerStep(Int8Layout layout) { return layout == Int8Layout::kInt16x2 ? 2 : 4; }
// Steps of a panel are a multiple of this.
constexpr int64_t StepUnit(Int8Layout layout) { return layout == Int8Layout::kAmx ? 16 : 1; }

// A correction of a weight that was clamped so that its pair cannot saturate: element [row, column]
// of a panel of B is `value` more than the panel holds.
struct SaturationCorrection {
  int32_t row;
  int32_t column;
  int32_t value;

  bool operator==(const SaturationCorrection&) const = default;
};

// Some rows of A times one panel of B, in exact integers (modulo 2^32): S = A·(B + corrections) +
// row_terms[0]·column_terms[0] + row_terms[1]·column_terms[1]. The output is S itself, or floats
// computed from it.
struct Int8Product {
  Int8Layout layout;
  // [rows, steps] of 32 bits, `lda` bytes between rows.
  const uint8_t* a;
  int64_t lda;
  // [steps, Int8PanelWidth(layout), RowsPerStep(layout)].
  const int8_t* b;
  int64_t steps;
  // For kInt8x4 only.
  absl::Span<const SaturationCorrection> corrections;
  int64_t rows;
  // At most Int8PanelWidth(layout).
  int64_t columns;
  // [rows] and [columns]; null for none.
  const int32_t* row_terms[2];
  const int32_t* column_terms[2];
  // S, [rows, columns], `ldc` numbers between rows; if null, `c` is written instead.
  int32_t* sums;
  // C = activation(S * (row_scales * scales) + bias) + residual.
  float* c;
  int64_t ldc;
  // [rows]; null for 1.
  const float* row_scales;
  // [columns]; bias may be null.
  const float* scales;
  const float* bias;
  Activation activation;
  TileResidual residual;
  // Memory that is read after this product, `next_bytes` long, to be prefetched meanwhile; null and
  // 0 for none.
  const int8_t* next;
  int64_t next_bytes;
};

// Precondition: the layout is not kAmx.
void MultiplyInt8(const Int8Product& product);

// Columns of a panel of B, as suits this machine's registers.
int64_t Int8PanelWidth(Int8Layout layout);

// out[i] = in[i] - zero, i < count, for int8 (`is_signed`) or uint8 numbers; returns their sum.
int32_t SubtractZeroPoint(const void* in, bool is_signed, int32_t zero, int64_t count,
                          int16_t* out);

// out[i] = in[i], plus 128 if `is_signed`, i < count; returns the sum. `out` may be `in`.
int32_t ShiftToUint8(const void* in, bool is_signed, int64_t count, uint8_t* out);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_KERNEL_H_
