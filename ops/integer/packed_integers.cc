#include "ops/integer/packed_integers.h"

#include <algorithm>
#include <cstring>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/integer/integer_kernel.h"

namespace attnrun {
namespace {

// uint8 is kept less 128, which is the same bits but the first.
int ShiftOf(DataType type) { return type == DataType::kUint8 ? 128 : 0; }

int ElementAt(const Tensor& tensor, int64_t i) {
  return tensor.type() == DataType::kUint8 ? tensor.data<uint8_t>()[i] : tensor.data<int8_t>()[i];
}

}  // namespace

int64_t PackedIntegers::num_panels() const { return DivCeil(columns_, IntegerPanelWidth()); }

const int8_t* PackedIntegers::panel(int64_t index) const {
  return panels_.data<int8_t>() + index * pairs() * IntegerPanelWidth() * 2;
}

absl::StatusOr<std::shared_ptr<const PackedIntegers>> PackedIntegers::Pack(
    absl::Span<const IntegerMatrix> parts, Allocator& allocator) {
  // No make_shared: it cannot call the private constructor.
  std::shared_ptr<PackedIntegers> packed(new PackedIntegers);
  packed->rows_ = parts[0].rows;
  for (const IntegerMatrix& part : parts) packed->columns_ += part.columns;
  const Shape shape = {packed->num_panels(), packed->pairs(), IntegerPanelWidth() * 2};
  ATTNRUN_ASSIGN_OR_RETURN(packed->panels_, Tensor::Allocate(DataType::kInt8, shape, allocator));
  ATTNRUN_ASSIGN_OR_RETURN(packed->offsets_,
                           Tensor::Allocate(DataType::kInt32, {packed->columns_}, allocator));
  std::memset(packed->panels_.mutable_raw(), 0, packed->panels_.num_elements());
  int64_t column = 0;
  for (const IntegerMatrix& part : parts) {
    packed->PackPart(part, column);
    column += part.columns;
  }
  return packed;
}

void PackedIntegers::PackPart(const IntegerMatrix& part, int64_t column) {
  const int shift = ShiftOf(part.values->type());
  const bool per_column = part.zero_points != nullptr && part.zero_points->num_elements() > 1;
  auto* const offsets = offsets_.mutable_data<int32_t>() + column;
  for (int64_t j = 0; j < part.columns; ++j) {
    const int zero =
        part.zero_points == nullptr ? 0 : ElementAt(*part.zero_points, per_column ? j : 0);
    offsets[j] = shift - zero;
    has_offsets_ = has_offsets_ || offsets[j] != 0;
  }
  const int64_t width = IntegerPanelWidth();
  const int64_t first = column / width;
  const int64_t last = DivCeil(column + part.columns, width);
  ParallelFor(last - first, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = first + begin; panel < first + end; ++panel)
      PackPanel(part, column, panel);
  });
}

void PackedIntegers::PackPanel(const IntegerMatrix& part, int64_t column, int64_t panel) {
  const int64_t width = IntegerPanelWidth();
  const int64_t begin = std::max(column, panel * width);
  const int64_t count = std::min(column + part.columns, (panel + 1) * width) - begin;
  const auto flip = static_cast<int8_t>(ShiftOf(part.values->type()) == 0 ? 0 : -128);
  const int8_t* from = part.values->data<int8_t>() + part.begin + (begin - column);
  int8_t* to = panels_.mutable_data<int8_t>() + panel * pairs() * width * 2;
  to += (begin - panel * width) * 2;
  for (int64_t row = 0; row < rows_; ++row, from += part.columns) {
    int8_t* const pair = to + row / 2 * width * 2 + row % 2;
    for (int64_t j = 0; j < count; ++j) pair[2 * j] = static_cast<int8_t>(from[j] ^ flip);
  }
}

}  // namespace attnrun
