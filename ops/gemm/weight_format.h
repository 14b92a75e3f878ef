// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_WEIGHT_FORMAT_H_
#define ATTNRUN_OPS_GEMM_WEIGHT_FORMAT_H_

#include <cstdint>

#include "attnrun/precision.h"
#include "attnrun/tensor.h"
#include "ops/gemm/matrix.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {

// How a packed weight [K, N] lies in memory: in panels of columns that follow each other, the last
// one padded with zeros. Files of the weight cache hold these numbers and layouts: whoever changes
// them must raise their kFormat.
enum class WeightFormat : uint8_t {
  // A panel is float [K, PanelWidth()].
  kFloat32 = 0,
  // As kFloat32, in 2 bytes a number, which a product widens. A is not rounded.
  kFloat16 = 1,
  kBfloat16 = 2,
  // As kBfloat16, for products that round A as well.
  kBfloat16Products = 3,
  // bf16 for tiles: a panel is [ceil(K / 32), 16, kAmxPanelWidth, 2]. A is rounded.
  kBfloat16Tiles = 4,
  // int8 with a scale for each column; A is rounded to 8 bits row by row (see int8_rounding.h). A
  // panel is [steps, width, numbers of a step] as an Int8Layout has it (kInt16x2, kVnni and kAmx),
  // then float scales [width], then int32 sums of the columns [width].
  kInt8Pairs = 5,
  kInt8Vnni = 6,
  kInt8Tiles = 7,
  // Floats for tiles: a panel is [ceil(K / 32), kAmxFloatStepBytes], see amx_float32.h. All numbers
  // can be split.
  kFloat32Tiles = 8,
};
inline constexpr WeightFormat kLastWeightFormat = WeightFormat::kFloat32Tiles;

constexpr bool IsInt8(WeightFormat format) {
  return format >= WeightFormat::kInt8Pairs && format <= WeightFormat::kInt8Tiles;
}

// The format for weights stored as `stored` (float, float16 or bfloat16) on this machine. Weights
// stored as bfloat16 are multiplied in bf16 without being asked where the machine has a unit for
// it; then A is rounded at the same points as with Precision::kBfloat16.
WeightFormat FormatFor(Precision precision, DataType stored);

// Columns and bytes of a panel of a weight with `rows` rows.
int64_t PanelColumns(WeightFormat format);
int64_t PanelBytes(WeightFormat format, int64_t rows);

// True if products round A to bf16.
constexpr bool RoundsToBf16(WeightFormat format) {
  return format == WeightFormat::kBfloat16Products || format == WeightFormat::kBfloat16Tiles;
}

// False if a packed panel of `rows` rows has numbers that products in this format cannot take.
bool FitsFormat(WeightFormat format, int64_t rows, const void* panel);

// Packs panel `index` of a weight of `rows` rows and `columns` columns.
void PackPanel(WeightFormat format, const BlockSource& weight, int64_t rows, int64_t columns,
               int64_t index, void* panel);

// Widens rows [first, first + rows) of a panel of 2-byte numbers to floats, PanelWidth() apart.
// Precondition: the format is kFloat16, kBfloat16 or kBfloat16Products.
void WidenPanel(WeightFormat format, const void* panel, int64_t first, int64_t rows, float* to);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_WEIGHT_FORMAT_H_
