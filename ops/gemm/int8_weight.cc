// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_weight.h"

#include <algorithm>
#include <cstring>

#include "core/div_ceil.h"
#include "ops/gemm/int8_driver.h"
#include "ops/gemm/int8_rounding.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/cpu.h"

namespace attnrun::ops {
namespace {

int64_t StepsOf(Int8Layout layout, int64_t rows) {
  const int64_t unit = StepUnit(layout);
  return DivCeil(rows, RowsPerStep(layout) * unit) * unit;
}

// Bytes of the integers of a panel; scales and sums follow them.
int64_t IntegerBytes(Int8Layout layout, int64_t rows) {
  return StepsOf(layout, rows) * Int8PanelWidth(layout) * RowsPerStep(layout);
}

// Lays out integers [rows, width] in steps, and adds up their columns.
void PackIntegers(Int8Layout layout, const int8_t* integers, int64_t rows, int8_t* panel,
                  int32_t* sums) {
  const int64_t width = Int8PanelWidth(layout);
  const int64_t group = RowsPerStep(layout);
  std::memset(panel, 0, static_cast<size_t>(IntegerBytes(layout, rows)));
  std::fill_n(sums, width, 0);
  for (int64_t row = 0; row < rows; ++row, integers += width) {
    int8_t* const to = panel + row / group * width * group + row % group;
    for (int64_t j = 0; j < width; ++j) to[group * j] = integers[j];
    for (int64_t j = 0; j < width; ++j) sums[j] += integers[j];
  }
}

// A row of A as int16, less its zero point, or as uint8.
Int8RowTerms FillRow(const float* row, int64_t count, const Int8Operands& operands, float scale,
                     uint8_t* to) {
  const int64_t bytes = 4 * operands.steps;
  if (operands.layout != Int8Layout::kInt16x2) {
    const RowRounding rounding = RoundRowToUint8(row, count, to);
    std::fill(to + count, to + bytes, uint8_t{0});
    return {0, -rounding.zero_point, rounding.scale * scale};
  }
  Scratch scratch;
  auto* const rounded = scratch.AtLeast<uint8_t>(count);
  const RowRounding rounding = RoundRowToUint8(row, count, rounded);
  auto* const numbers = reinterpret_cast<int16_t*>(to);
  SubtractZeroPoint(rounded, /*is_signed=*/false, rounding.zero_point, count, numbers);
  std::fill(numbers + count, numbers + bytes / 2, int16_t{0});
  return {0, 0, rounding.scale * scale};
}

}  // namespace

WeightFormat BestInt8Format() {
  switch (BestInt8Layout()) {
    case Int8Layout::kAmx:
      return WeightFormat::kInt8Tiles;
    case Int8Layout::kVnni:
      return WeightFormat::kInt8Vnni;
    default:
      return WeightFormat::kInt8Pairs;
  }
}

Int8Layout LayoutOf(WeightFormat format) {
  if (format == WeightFormat::kInt8Tiles) return Int8Layout::kAmx;
  return format == WeightFormat::kInt8Vnni ? Int8Layout::kVnni : Int8Layout::kInt16x2;
}

int64_t Int8PanelBytes(WeightFormat format, int64_t rows) {
  const Int8Layout layout = LayoutOf(format);
  return IntegerBytes(layout, rows) +
         Int8PanelWidth(layout) * static_cast<int64_t>(sizeof(float) + sizeof(int32_t));
}

void PackInt8Panel(WeightFormat format, const BlockSource& weight, int64_t rows, IndexRange columns,
                   uint8_t* panel) {
  const Int8Layout layout = LayoutOf(format);
  const int64_t width = Int8PanelWidth(layout);
  Scratch float_scratch;
  auto* const floats = float_scratch.AtLeast<float>(rows * width);
  if (columns.size() < width) std::fill_n(floats, rows * width, 0.0F);
  weight.Copy(0, rows, columns.begin, columns.size(), floats, width);
  auto* const scales = reinterpret_cast<float*>(panel + IntegerBytes(layout, rows));
  ScalesOfColumns(floats, rows, width, scales);
  Scratch integer_scratch;
  auto* const integers = integer_scratch.AtLeast<int8_t>(rows * width);
  RoundColumns(floats, rows, width, scales, integers);
  PackIntegers(layout, integers, rows, reinterpret_cast<int8_t*>(panel),
               reinterpret_cast<int32_t*>(scales + width));
}

Int8PanelView ViewInt8Panel(const PackedMatrix& weight, int64_t index) {
  const Int8Layout layout = LayoutOf(weight.format());
  const auto* const panel = static_cast<const uint8_t*>(weight.panel_bytes(index));
  const auto* const scales =
      reinterpret_cast<const float*>(panel + IntegerBytes(layout, weight.rows()));
  Int8PanelView view;
  view.integers = reinterpret_cast<const int8_t*>(panel);
  view.scales = scales;
  view.sums = reinterpret_cast<const int32_t*>(scales + Int8PanelWidth(layout));
  return view;
}

void RoundedGemm(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
                 const Epilogue& epilogue) {
  const auto panel = [&](int64_t index) { return ViewInt8Panel(b, index); };
  Int8Operands operands;
  operands.layout = LayoutOf(b.format());
  operands.rows = a.rows;
  operands.depth = b.rows();
  operands.columns = b.columns();
  operands.steps = StepsOf(operands.layout, b.rows());
  operands.scales_rows = true;
  const auto fill = [&](int64_t row, uint8_t* to) {
    if (a.column_stride == 1 || a.columns <= 1) {
      return FillRow(a.at(row, 0), a.columns, operands, epilogue.scale, to);
    }
    Scratch scratch;
    auto* const dense = scratch.AtLeast<float>(a.columns);
    CopyBlock(a, row, 1, 0, a.columns, dense, a.columns);
    return FillRow(dense, a.columns, operands, epilogue.scale, to);
  };
  Int8Epilogue out;
  out.c = c;
  out.ldc = ldc;
  out.epilogue = AfterRounding(epilogue);
  MultiplyInt8Matrices(operands, fill, panel, out);
}

}  // namespace attnrun::ops
