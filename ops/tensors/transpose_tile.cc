// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/transpose_tile.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "hwy/highway.h"

namespace attnrun::ops {
namespace {

// Moving data is bound by memory, so the vectors that every machine has suffice.
namespace hn = hwy::HWY_NAMESPACE;

// A matrix of T in memory, and the place for its transpose.
template <typename T>
struct Matrix {
  const char* source;
  int64_t source_stride;
  char* target;
  int64_t target_stride;

  const T* Row(int64_t row, int64_t column) const {
    return reinterpret_cast<const T*>(source + row * source_stride) + column;
  }
  T* TargetRow(int64_t column, int64_t row) const {
    return reinterpret_cast<T*>(target + column * target_stride) + row;
  }
};

// The columns of a tile fill 16 bytes of a source row, its rows 32 bytes of a target row.
template <typename T>
inline constexpr int64_t kTileColumns = 16 / sizeof(T);
template <typename T>
inline constexpr int64_t kTileRows = 32 / sizeof(T);

// Transposes two square tiles, one in each half of the registers. Interleaving the first half of
// the rows with the second is a perfect shuffle of the elements; log2(N) shuffles transpose.
template <typename T>
void TransposeTile(const Matrix<T>& matrix, int64_t row, int64_t column) {
  const hn::FixedTag<T, 32 / sizeof(T)> d;
  const hn::Half<decltype(d)> half;
  constexpr int kRows = kTileColumns<T>;
  using V = hn::Vec<decltype(d)>;
  V rows[kRows];
  for (int i = 0; i < kRows; ++i) {
    rows[i] = hn::Combine(d, hn::LoadU(half, matrix.Row(row + kRows + i, column)),
                          hn::LoadU(half, matrix.Row(row + i, column)));
  }
  for (int step = kRows; step > 1; step /= 2) {
    V shuffled[kRows];
    for (int i = 0; i < kRows / 2; ++i) {
      shuffled[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kRows / 2]);
      shuffled[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kRows / 2]);
    }
    std::copy(shuffled, shuffled + kRows, rows);
  }
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(rows[i], d, matrix.TargetRow(column + i, row));
  }
}

template <typename T>
void TransposeScalars(const Matrix<T>& matrix, int64_t first_row, int64_t end_row,
                      int64_t first_column, int64_t end_column) {
  for (int64_t column = first_column; column < end_column; ++column) {
    for (int64_t row = first_row; row < end_row; ++row) {
      std::memcpy(matrix.TargetRow(column, row), matrix.Row(row, column), sizeof(T));
    }
  }
}

// Transposes two or three rows that fill the rows of the target, such as the colors of an image.
template <typename T>
void InterleaveRows(const Matrix<T>& matrix, int64_t rows, int64_t columns) {
  const hn::FixedTag<T, 32 / sizeof(T)> d;
  constexpr int64_t kLanes = kTileRows<T>;
  const int64_t whole = columns - columns % kLanes;
  for (int64_t column = 0; column < whole; column += kLanes) {
    const auto a = hn::LoadU(d, matrix.Row(0, column));
    const auto b = hn::LoadU(d, matrix.Row(1, column));
    if (rows == 2) {
      hn::StoreInterleaved2(a, b, d, matrix.TargetRow(column, 0));
    } else {
      hn::StoreInterleaved3(a, b, hn::LoadU(d, matrix.Row(2, column)), d,
                            matrix.TargetRow(column, 0));
    }
  }
  TransposeScalars(matrix, 0, rows, whole, columns);
}

template <typename T>
void Transpose(const Matrix<T>& matrix, int64_t rows, int64_t columns) {
  const bool fills = matrix.target_stride == rows * static_cast<int64_t>(sizeof(T));
  if (fills && (rows == 2 || rows == 3)) return InterleaveRows(matrix, rows, columns);
  const int64_t whole_rows = rows - rows % kTileRows<T>;
  const int64_t whole_columns = columns - columns % kTileColumns<T>;
  for (int64_t row = 0; row < whole_rows; row += kTileRows<T>) {
    for (int64_t column = 0; column < whole_columns; column += kTileColumns<T>) {
      TransposeTile(matrix, row, column);
    }
  }
  TransposeScalars(matrix, 0, whole_rows, whole_columns, columns);
  TransposeScalars(matrix, whole_rows, rows, 0, columns);
}

}  // namespace

void TransposeMatrix(int width, int64_t rows, int64_t columns, const char* source,
                     int64_t source_stride, char* target, int64_t target_stride) {
  switch (width) {
    case 1:
      return Transpose<uint8_t>({source, source_stride, target, target_stride}, rows, columns);
    case 2:
      return Transpose<uint16_t>({source, source_stride, target, target_stride}, rows, columns);
    case 4:
      return Transpose<uint32_t>({source, source_stride, target, target_stride}, rows, columns);
    default:
      return Transpose<uint64_t>({source, source_stride, target, target_stride}, rows, columns);
  }
}

}  // namespace attnrun::ops
