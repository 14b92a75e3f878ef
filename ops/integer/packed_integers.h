#ifndef ATTNRUN_OPS_INTEGER_PACKED_INTEGERS_H_
#define ATTNRUN_OPS_INTEGER_PACKED_INTEGERS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"

namespace attnrun {

// A matrix [K, N] of 8-bit integers and what is to be taken off them.
struct IntegerMatrix {
  // int8 or uint8, dense, K * N elements from `begin` on.
  const Tensor* values = nullptr;
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  // Of the type of `values`: one element, or one per column. Null: nothing.
  const Tensor* zero_points = nullptr;
};

// Matrices of equally many rows side by side, as int8 in panels of IntegerPanelWidth() columns. Of
// each panel two rows lie together, a pair of numbers for each column, as the multiplier of pairs
// of int16 takes them; an odd last row and columns beyond the last are filled with zeros. A number
// of
// [-255, 255], as an element less its zero point is, is kept as an int8 and an offset of its
// column.
class PackedIntegers {
 public:
  // kResourceExhausted as Allocator says. Precondition: at least one part.
  static absl::StatusOr<std::shared_ptr<const PackedIntegers>> Pack(
      absl::Span<const IntegerMatrix> parts, Allocator& allocator = Allocator::Heap());

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // ceil(K / 2).
  int64_t pairs() const { return (rows_ + 1) / 2; }
  int64_t num_panels() const;
  // [pairs(), IntegerPanelWidth(), 2].
  const int8_t* panel(int64_t index) const;
  // What every element of a column is short of: [columns()], or null where nothing is.
  const int32_t* offsets() const { return has_offsets_ ? offsets_.data<int32_t>() : nullptr; }

 private:
  PackedIntegers() = default;
  // `column`: where the part begins.
  void PackPart(const IntegerMatrix& part, int64_t column);
  void PackPanel(const IntegerMatrix& part, int64_t column, int64_t panel);

  int64_t rows_ = 0;
  int64_t columns_ = 0;
  bool has_offsets_ = false;
  Tensor panels_;
  Tensor offsets_;
};

}  // namespace attnrun

#endif  // ATTNRUN_OPS_INTEGER_PACKED_INTEGERS_H_
