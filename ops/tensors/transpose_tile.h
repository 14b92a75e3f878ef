// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_TRANSPOSE_TILE_H_
#define ATTNRUN_OPS_TENSORS_TRANSPOSE_TILE_H_

#include <cstdint>

namespace attnrun::ops {

// Transposes a matrix of elements of `width` bytes (1, 2, 4 or 8) on the calling thread:
// target[column][row] = source[row][column]. Elements of a row are adjacent, in the source and in
// the target; `source_stride` and `target_stride` are bytes between rows.
void TransposeMatrix(int width, int64_t rows, int64_t columns, const char* source,
                     int64_t source_stride, char* target, int64_t target_stride);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_TRANSPOSE_TILE_H_
