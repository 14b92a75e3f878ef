// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_PANELS_H_
#define ATTNRUN_OPS_GEMM_INT8_PANELS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "ops/gemm/int8_kernel.h"

namespace attnrun::ops {

// A matrix [K, N] of 8-bit integers and what is to be taken off them.
struct Int8Matrix {
  // int8 or uint8, dense, K * N elements from `begin` on.
  const Tensor* values = nullptr;
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  // Of the type of `values`: one element, or one per column. Null: nothing.
  const Tensor* zero_points = nullptr;
};

// Matrices of equally many rows side by side, as int8 in panels of Int8PanelWidth() columns. Of
// each panel the rows of a step (see Int8Layout) lie together, a group of numbers for each
// column; rows and columns beyond the last are zeros. A number of [-255, 255], as an element less
// its zero point is, is kept as an int8 and an offset of its column.
//
// In fours, products of two neighbours are added up in 16 bits by the instruction that multiplies,
// which saturates where both weights are large and of one sign. Of such a pair the first is made
// smaller, and what it is short of kept in a list by itself: of bell-shaped weights that is one
// pair in some thousands. Where it is many, rows are taken in twos, whose products have 32 bits.
class Int8Panels {
 public:
  // kResourceExhausted as Allocator says. Precondition: at least one part.
  static absl::StatusOr<std::shared_ptr<const Int8Panels>> Pack(absl::Span<const Int8Matrix> parts,
                                                                Allocator& allocator);
  // The same of what is kept: live ones of equal contents share their bytes, whichever nodes,
  // models or sessions they belong to.
  static absl::StatusOr<std::shared_ptr<const Int8Panels>> PackShared(
      absl::Span<const Int8Matrix> parts);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Int8Layout layout() const { return layout_; }
  // ceil(K / RowsPerStep(layout())).
  int64_t steps() const;
  int64_t num_panels() const;
  // [steps(), Int8PanelWidth(), RowsPerStep(layout())].
  const int8_t* panel(int64_t index) const;
  // What elements of a panel are short of.
  absl::Span<const SaturationCorrection> corrections(int64_t panel) const;
  // What every element of a column is short of: [columns()], or null where nothing is.
  const int32_t* offsets() const { return has_offsets_ ? offsets_.data<int32_t>() : nullptr; }
  // The sums of columns without their offsets: [columns()].
  const int32_t* sums() const { return sums_.data<int32_t>(); }

 private:
  Int8Panels() = default;
  size_t Fingerprint() const;
  bool Equals(const Int8Panels& other) const;
  absl::Status Allocate(Allocator& allocator);
  // `column`: where the part begins.
  void PackPart(const Int8Matrix& part, int64_t column);
  void PackPanel(const Int8Matrix& part, int64_t column, int64_t panel);
  struct Columns {
    int64_t begin;
    int64_t end;
  };
  template <int kGroup>
  void PackColumns(const Int8Matrix& part, int64_t column, Columns columns);
  // Makes pairs smaller that would saturate.
  void Limit(int64_t panel);

  int64_t rows_ = 0;
  int64_t columns_ = 0;
  Int8Layout layout_ = Int8Layout::kInt16x2;
  bool has_offsets_ = false;
  Tensor panels_;
  Tensor offsets_;
  Tensor sums_;
  // By panel; none where rows are taken in twos.
  std::vector<std::vector<SaturationCorrection>> corrections_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_PANELS_H_
