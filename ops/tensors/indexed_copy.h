// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_INDEXED_COPY_H_
#define ATTNRUN_OPS_TENSORS_INDEXED_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// The most positions of an axis: larger tables might take more memory than x and y.
inline constexpr int64_t kMostPositions = int64_t{1} << 22;

// y[i, j, ..] = x[positions[0][i], positions[1][j], ..], in parallel. Where a position is -1, y is
// the element at `outside`. An axis without positions is copied as it is. Precondition:
// IsMachineWord(x.type()); y has elements.
void CopyIndexed(const Tensor& x, std::vector<std::vector<int64_t>> positions, const void* outside,
                 Tensor& y);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_INDEXED_COPY_H_
