// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_PANELS_H_
#define ATTNRUN_OPS_GEMM_INT8_PANELS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "ops/gemm/int8_kernel.h"
#include "ops/gemm/packed_store.h"
#include "ops/gemm/saturation_corrections.h"

namespace attnrun::ops {

// A matrix [K, N] of 8-bit integers and the zero points of its columns.
struct Int8Matrix {
  // int8 or uint8, K * N elements from `begin` on; dense, or a view whose first axes are the rows.
  // A view begins at 0.
  const Tensor* values = nullptr;
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  // One element or one per column, of the type of `values`; null for zeros.
  const Tensor* zero_points = nullptr;
};

int64_t ColumnsOf(absl::Span<const Int8Matrix> parts);

// A panel of a packed matrix; its arrays have a number for each column of the panel.
struct Int8PanelView {
  // [steps, Int8PanelWidth(layout), RowsPerStep(layout)].
  const int8_t* integers = nullptr;
  absl::Span<const SaturationCorrection> corrections;
  // The number to add to every element of a column; null if all are 0.
  const int32_t* offsets = nullptr;
  // The sum of each column without its offset.
  const int32_t* sums = nullptr;
  // Null for none.
  const float* scales = nullptr;
};

// Matrices with equally many rows side by side, as int8 in panels of Int8PanelWidth(layout())
// columns. The rows of a step (see Int8Layout) lie together, a group of numbers for each column;
// rows and columns beyond the last are zeros. An element less its zero point, a number of [-255,
// 255], is stored as an int8 and an offset of its column.
//
// For kInt8x4, which is for machines without VNNI, the multiply instruction adds products of two
// neighbours in 16 bits, which saturates if both weights are large and of one sign. The first
// weight of such a pair is clamped; the remainder goes to a sparse list of saturation corrections.
// Bell-shaped weights have one such pair in some thousands. A matrix with many of them uses
// kInt16x2, whose products have 32 bits.
class Int8Panels {
 public:
  // Packs `parts`. kResourceExhausted as Allocator says. Precondition: at least one part.
  static absl::StatusOr<std::shared_ptr<const Int8Panels>> Pack(absl::Span<const Int8Matrix> parts,
                                                                Allocator& allocator);
  // As Pack, on the heap and shared: live panels of equal contents share their bytes, whichever
  // nodes, models or sessions they belong to. Or takes them from the store, which may be null.
  static absl::StatusOr<std::shared_ptr<const Int8Panels>> PackShared(
      absl::Span<const Int8Matrix> parts, PackedStore* store);

  // Panels of so many rows and columns from a store's bytes; null if these could not be such panels
  // on this machine.
  static std::shared_ptr<const Int8Panels> Read(int64_t rows, int64_t columns,
                                                const PackedBytes& bytes);
  // As a store keeps it.
  PackedBytes bytes() const;
  bool HasExtentsOf(const Int8Panels& other) const;

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Int8Layout layout() const { return layout_; }
  // ceil(K / RowsPerStep(layout())), rounded up to whole StepUnit(layout()).
  int64_t steps() const;
  int64_t num_panels() const;
  Int8PanelView view(int64_t panel) const;

 private:
  Int8Panels(int64_t rows, int64_t columns, Int8Layout layout)
      : rows_(rows), columns_(columns), layout_(layout) {}
  static absl::StatusOr<std::shared_ptr<const Int8Panels>> PackOnHeap(
      absl::Span<const Int8Matrix> parts);
  Shape PanelsShape() const {
    return {num_panels(), steps(), panel_width() * RowsPerStep(layout_)};
  }
  int64_t panel_width() const { return Int8PanelWidth(layout_); }
  absl::Status Allocate(Allocator& allocator);
  // `column`: the first column of the part.
  void PackPart(const Int8Matrix& part, int64_t column);
  void PackPanel(const Int8Matrix& part, int64_t column, int64_t panel);
  struct Columns {
    int64_t begin;
    int64_t end;
  };
  template <int kGroup>
  void PackColumns(const Int8Matrix& part, int64_t column, Columns columns);

  const int64_t rows_;
  const int64_t columns_;
  const Int8Layout layout_;
  bool has_offsets_ = false;
  Tensor panels_;
  Tensor offsets_;
  Tensor sums_;
  // Nullopt unless the layout is kInt8x4.
  std::optional<SaturationCorrections> corrections_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_PANELS_H_
