// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/weight_format.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/amx_float32.h"
#include "ops/gemm/int8_weight.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/cpu.h"
#include "ops/tensors/half.h"

namespace attnrun::ops {
namespace {

// Rows that are packed at once.
constexpr int64_t kRowsAtOnce = 64;

// Copies rows of a panel to floats, `width` apart, and fills missing columns with zeros.
void CopyPanel(const BlockSource& weight, IndexRange rows, IndexRange columns, int64_t width,
               float* to) {
  weight.Copy(rows.begin, rows.size(), columns.begin, columns.size(), to, width);
  for (int64_t row = 0; columns.size() < width && row < rows.size(); ++row) {
    std::fill(to + row * width + columns.size(), to + (row + 1) * width, 0.0F);
  }
}

void PackTiles(const BlockSource& weight, int64_t rows, IndexRange columns, uint8_t* to) {
  float floats[kAmxBf16Step * kAmxPanelWidth];
  for (int64_t row = 0; row < rows; row += kAmxBf16Step, to += kAmxPanelBytes) {
    const int64_t count = std::min(kAmxBf16Step, rows - row);
    weight.Copy(row, count, columns.begin, columns.size(), floats, kAmxPanelWidth);
    PackBf16Step(floats, kAmxPanelWidth, count, columns.size(), to);
  }
}

void PackFloatTiles(const BlockSource& weight, int64_t rows, IndexRange columns, float* to) {
  float floats[kAmxBf16Step * kAmxPanelWidth];
  for (int64_t row = 0; row < rows; row += kAmxBf16Step) {
    const int64_t count = std::min(kAmxBf16Step, rows - row);
    CopyPanel(weight, {row, row + count}, columns, kAmxPanelWidth, floats);
    std::fill(floats + count * kAmxPanelWidth, std::end(floats), 0.0F);
    PackFloatStep(floats, to);
    to += kAmxBf16Step * kAmxPanelWidth;
  }
}

void PackHalves(WeightFormat format, const BlockSource& weight, int64_t rows, IndexRange columns,
                uint16_t* to) {
  const int64_t width = PanelWidth();
  Scratch scratch;
  auto* const floats = scratch.AtLeast<float>(kRowsAtOnce * width);
  for (int64_t row = 0; row < rows; row += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, rows - row);
    CopyPanel(weight, {row, row + count}, columns, width, floats);
    if (format == WeightFormat::kFloat16) {
      NarrowToFloat16(floats, count * width, to + row * width);
    } else {
      NarrowToBf16(floats, count * width, to + row * width);
    }
  }
}

}  // namespace

WeightFormat FormatFor(Precision precision, DataType stored) {
  if (precision == Precision::kInt8) return BestInt8Format();
  const bool unit = ThisCpu().amx_bf16;
  if (precision == Precision::kBfloat16 || (stored == DataType::kBfloat16 && unit)) {
    return unit ? WeightFormat::kBfloat16Tiles : WeightFormat::kBfloat16Products;
  }
  if (stored == DataType::kBfloat16) return WeightFormat::kBfloat16;
  return stored == DataType::kFloat16 ? WeightFormat::kFloat16 : WeightFormat::kFloat32;
}

int64_t PanelColumns(WeightFormat format) {
  if (IsInt8(format)) return Int8PanelWidth(LayoutOf(format));
  const bool tiles =
      format == WeightFormat::kBfloat16Tiles || format == WeightFormat::kFloat32Tiles;
  return tiles ? kAmxPanelWidth : PanelWidth();
}

int64_t PanelBytes(WeightFormat format, int64_t rows) {
  if (IsInt8(format)) return Int8PanelBytes(format, rows);
  if (format == WeightFormat::kBfloat16Tiles) return DivCeil(rows, kAmxBf16Step) * kAmxPanelBytes;
  if (format == WeightFormat::kFloat32Tiles) {
    return DivCeil(rows, kAmxBf16Step) * kAmxFloatStepBytes;
  }
  return rows * PanelWidth() * (format == WeightFormat::kFloat32 ? 4 : 2);
}

bool FitsFormat(WeightFormat format, int64_t rows, const void* panel) {
  return format != WeightFormat::kFloat32Tiles ||
         CanSplitPanel(static_cast<const float*>(panel), DivCeil(rows, kAmxBf16Step));
}

void PackPanel(WeightFormat format, const BlockSource& weight, int64_t rows, int64_t columns,
               int64_t index, void* panel) {
  const int64_t width = PanelColumns(format);
  const IndexRange range = {index * width, std::min((index + 1) * width, columns)};
  if (IsInt8(format)) {
    PackInt8Panel(format, weight, rows, range, static_cast<uint8_t*>(panel));
  } else if (format == WeightFormat::kBfloat16Tiles) {
    PackTiles(weight, rows, range, static_cast<uint8_t*>(panel));
  } else if (format == WeightFormat::kFloat32Tiles) {
    PackFloatTiles(weight, rows, range, static_cast<float*>(panel));
  } else if (format == WeightFormat::kFloat32) {
    CopyPanel(weight, {0, rows}, range, width, static_cast<float*>(panel));
  } else {
    PackHalves(format, weight, rows, range, static_cast<uint16_t*>(panel));
  }
}

void WidenPanel(WeightFormat format, const void* panel, int64_t first, int64_t rows, float* to) {
  const int64_t width = PanelWidth();
  const auto* const from = static_cast<const uint16_t*>(panel) + first * width;
  if (format == WeightFormat::kFloat16) return WidenFloat16(from, rows * width, to);
  WidenBf16(from, rows * width, to);
}

}  // namespace attnrun::ops
