// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_PACKED_MATRIX_H_
#define ATTNRUN_OPS_GEMM_PACKED_MATRIX_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/gemm/matrix.h"
#include "ops/gemm/side_by_side.h"
#include "ops/interface/kernel_context.h"

namespace attnrun::ops {

// A weight [K, N] cut into panels of PanelWidth() columns. The rows of a panel follow each other,
// so that a GEMM reads it as one stream. The last panel is padded with zeros.
class PackedMatrix {
 public:
  // Packs a weight in the precision of `context`, or takes it from the context's store.
  // kResourceExhausted as Allocator says.
  // Live packed matrices of equal contents share their bytes, whichever nodes, models or sessions
  // they belong to.
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> Pack(
      const SideBySide& weight, const KernelContext& context = {});
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> Pack(
      const MatrixView& weight, const KernelContext& context = {}) {
    return Pack(SideBySide({weight}), context);
  }

  // A matrix that is already packed: `panels` is float [num_panels(), rows, PanelWidth()], dense.
  static std::shared_ptr<const PackedMatrix> Of(int64_t columns, Tensor panels);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t num_panels() const;
  // [rows(), PanelWidth()], dense; the panels follow each other.
  const float* panel(int64_t index) const;
  // All panels.
  const Tensor& panels() const { return data_; }

 private:
  PackedMatrix() = default;
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackShared(const SideBySide& weight);
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackCopy(const SideBySide& weight);
  bool Holds(const SideBySide& weight) const;

  int64_t rows_ = 0;
  int64_t columns_ = 0;
  Tensor data_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_PACKED_MATRIX_H_
