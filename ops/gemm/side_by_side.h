// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_SIDE_BY_SIDE_H_
#define ATTNRUN_OPS_GEMM_SIDE_BY_SIDE_H_

#include <cstdint>
#include <vector>

#include "ops/gemm/matrix.h"
#include "ops/gemm/stored_matrix.h"

namespace attnrun::ops {

// Matrices with equally many rows as one matrix: the columns of each follow those of the one
// before.
class SideBySide final : public BlockSource {
 public:
  // Precondition: at least one part. The memory that the parts view must outlive this.
  explicit SideBySide(std::vector<StoredMatrix> parts);

  const std::vector<StoredMatrix>& parts() const { return parts_; }
  int64_t rows() const { return parts_[0].rows; }
  int64_t columns() const { return columns_; }

  void Copy(int64_t row, int64_t rows, int64_t column, int64_t columns, float* to,
            int64_t width) const override;

 private:
  std::vector<StoredMatrix> parts_;
  int64_t columns_ = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_SIDE_BY_SIDE_H_
