// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_PACKED_MATRIX_H_
#define ATTNRUN_OPS_GEMM_PACKED_MATRIX_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/gemm/packed_store.h"
#include "ops/gemm/side_by_side.h"
#include "ops/gemm/stored_matrix.h"
#include "ops/gemm/weight_format.h"
#include "ops/interface/kernel_context.h"

namespace attnrun::ops {

// A weight [K, N] cut into panels of columns, so that a GEMM reads it as one stream.
class PackedMatrix {
 public:
  // Packs a weight that the model stores as `stored`, in the format for the precision of `context`
  // (see ChooseInt8), or takes it from the context's store. kResourceExhausted as Allocator says.
  // Live packed matrices of equal contents share their bytes, whichever nodes, models or sessions
  // they belong to.
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> Pack(
      const SideBySide& weight, const KernelContext& context = {},
      DataType stored = DataType::kFloat);
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> Pack(
      const StoredMatrix& weight, const KernelContext& context = {},
      DataType stored = DataType::kFloat) {
    return Pack(SideBySide({weight}), context, stored);
  }
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> Pack(
      const MatrixView& weight, const KernelContext& context = {},
      DataType stored = DataType::kFloat) {
    return Pack(SideBySide({weight}), context, stored);
  }
  // A matrix that is already packed: `panels` is uint8 [panels, PanelBytes(format, rows)], dense.
  static std::shared_ptr<const PackedMatrix> Of(WeightFormat format, int64_t rows, int64_t columns,
                                                Tensor panels);

  // Identifies this weight in this format in a store.
  static PackedRecipe RecipeOf(WeightFormat format, const SideBySide& weight);
  // The weight in this format from a store's bytes; null if these are not as long as it is.
  static std::shared_ptr<const PackedMatrix> Read(WeightFormat format, const SideBySide& weight,
                                                  const PackedBytes& bytes);
  // As a store keeps it.
  PackedBytes bytes() const { return {0, {data_}}; }

  WeightFormat format() const { return format_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t num_panels() const;
  // A panel as its format says.
  const void* panel_bytes(int64_t index) const;
  // Precondition: the format is kFloat32. [rows(), PanelWidth()], dense.
  const float* panel(int64_t index) const { return static_cast<const float*>(panel_bytes(index)); }
  // All panels, as `Of` takes them.
  const Tensor& panels() const { return data_; }

 private:
  PackedMatrix() = default;
  // Pack for Precision::kInt8.
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackForInt8(
      const SideBySide& weight, const KernelContext& context, DataType stored);
  // Packs for a precision other than kInt8.
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackIn(Precision precision,
                                                                    DataType stored,
                                                                    const SideBySide& weight,
                                                                    const KernelContext& context);
  // Takes the weight in this format from the store, which may be null, or packs it. kOutOfRange if
  // the format cannot hold it, see FitsFormat.
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackAs(WeightFormat format,
                                                                    const SideBySide& weight,
                                                                    PackedStore* store);
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackShared(WeightFormat format,
                                                                        const SideBySide& weight);
  static absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackCopy(WeightFormat format,
                                                                      const SideBySide& weight);
  bool Holds(WeightFormat format, const SideBySide& weight) const;

  WeightFormat format_ = WeightFormat::kFloat32;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  Tensor data_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_PACKED_MATRIX_H_
