// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/stored_matrix.h"

#include <algorithm>
#include <utility>

#include "ops/tensors/half.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

using Widen = void (*)(const uint16_t* from, int64_t count, float* to);

// A block of halves with a stride from row to row and from column to column.
struct HalfBlock {
  const uint16_t* data;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;
  int64_t column_stride;
};

// Rows and columns of a block that are turned at once: as many rows as a cache line of a contiguous
// column holds.
constexpr int64_t kTileRows = 32;
constexpr int64_t kTileColumns = 64;

// Copies a tile to dense rows of halves.
void GatherTile(const HalfBlock& tile, uint16_t* to) {
  for (int64_t j = 0; j < tile.columns; ++j) {
    const uint16_t* const from = tile.data + j * tile.column_stride;
    for (int64_t i = 0; i < tile.rows; ++i) to[i * kTileColumns + j] = from[i * tile.row_stride];
  }
}

void CopyTurned(const HalfBlock& block, Widen widen, float* to, int64_t width) {
  uint16_t halves[kTileRows * kTileColumns];
  for (int64_t row = 0; row < block.rows; row += kTileRows) {
    for (int64_t column = 0; column < block.columns; column += kTileColumns) {
      HalfBlock tile = block;
      tile.data += row * block.row_stride + column * block.column_stride;
      tile.rows = std::min(kTileRows, block.rows - row);
      tile.columns = std::min(kTileColumns, block.columns - column);
      GatherTile(tile, halves);
      for (int64_t i = 0; i < tile.rows; ++i) {
        widen(halves + i * kTileColumns, tile.columns, to + (row + i) * width + column);
      }
    }
  }
}

// Copies rows of one run; the first element is `offset` elements behind the matrix's.
void CopyRun(const StoredMatrix& from, int64_t offset, int64_t rows, int64_t columns, float* to,
             int64_t width) {
  if (from.type == DataType::kFloat) {
    const MatrixView floats = {static_cast<const float*>(from.data) + offset, rows, columns,
                               from.row_stride, from.column_stride};
    return CopyBlock(floats, 0, rows, 0, columns, to, width);
  }
  const Widen widen = from.type == DataType::kFloat16 ? WidenFloat16 : WidenBf16;
  const auto* const data = static_cast<const uint16_t*>(from.data) + offset;
  if (from.column_stride != 1) {
    const HalfBlock block = {data, rows, columns, from.row_stride, from.column_stride};
    return CopyTurned(block, widen, to, width);
  }
  for (int64_t i = 0; i < rows; ++i) widen(data + i * from.row_stride, columns, to + i * width);
}

}  // namespace

StoredMatrix::StoredMatrix(const Tensor& tensor)
    : type(tensor.type()),
      data(tensor.raw()),
      rows(tensor.dim(tensor.rank() - 2)),
      columns(tensor.dim(tensor.rank() - 1)) {
  const Shape strides = StridesOf(tensor);
  row_stride = strides[strides.size() - 2];
  column_stride = strides[strides.size() - 1];
}

StoredMatrix StoredMatrix::Transposed() const {
  StoredMatrix matrix = *this;
  std::swap(matrix.rows, matrix.columns);
  std::swap(matrix.row_stride, matrix.column_stride);
  return matrix;
}

absl::string_view StoredMatrix::bytes() const {
  const int64_t last = (rows - 1) / run_rows * run_stride +
                       (std::min(rows, run_rows) - 1) * row_stride + (columns - 1) * column_stride;
  const size_t width = type == DataType::kFloat ? sizeof(float) : sizeof(uint16_t);
  return {static_cast<const char*>(data), static_cast<size_t>(last + 1) * width};
}

void CopyBlock(const StoredMatrix& from, int64_t row, int64_t rows, int64_t column, int64_t columns,
               float* to, int64_t width) {
  while (rows > 0) {
    const int64_t first = row % from.run_rows;
    const int64_t count = std::min(rows, from.run_rows - first);
    const int64_t offset = row / from.run_rows * from.run_stride + first * from.row_stride +
                           column * from.column_stride;
    CopyRun(from, offset, count, columns, to, width);
    row += count;
    rows -= count;
    to += count * width;
  }
}

}  // namespace attnrun::ops
