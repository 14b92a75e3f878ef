#ifndef ATTNRUN_OPS_MATMUL_SIDE_BY_SIDE_H_
#define ATTNRUN_OPS_MATMUL_SIDE_BY_SIDE_H_

#include <cstdint>
#include <vector>

#include "ops/matmul/matrix.h"

namespace attnrun {

// Matrices of equally many rows as one: the columns of each follow those of the one before it.
class SideBySide final : public BlockSource {
 public:
  // Precondition: at least one part. What the parts view must outlive this.
  explicit SideBySide(std::vector<MatrixView> parts);

  const std::vector<MatrixView>& parts() const { return parts_; }
  int64_t rows() const { return parts_[0].rows; }
  int64_t columns() const { return columns_; }

  void Copy(int64_t row, int64_t rows, int64_t column, int64_t columns, float* to,
            int64_t width) const override;

 private:
  std::vector<MatrixView> parts_;
  int64_t columns_ = 0;
};

}  // namespace attnrun

#endif  // ATTNRUN_OPS_MATMUL_SIDE_BY_SIDE_H_
