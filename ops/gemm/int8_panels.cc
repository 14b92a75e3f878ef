// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_panels.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/bytes.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// uint8 is stored less 128, which flips the first bit.
int ShiftOf(DataType type) { return type == DataType::kUint8 ? 128 : 0; }
int8_t FlipOf(DataType type) { return static_cast<int8_t>(type == DataType::kUint8 ? -128 : 0); }

int64_t CountCorrections(const Int8Matrix& part) {
  const int8_t flip = FlipOf(part.values->type());
  const int8_t* const from = part.values->data<int8_t>() + part.begin;
  std::atomic<int64_t> total = 0;
  ParallelFor(part.rows / 2, 32, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t pair = begin; pair < end; ++pair) {
      const int8_t* const row = from + 2 * pair * part.columns;
      // 32 bits, so that the compiler vectorizes the loop.
      int32_t of_row = 0;
      for (int64_t j = 0; j < part.columns; ++j) {
        const auto first = static_cast<int8_t>(row[j] ^ flip);
        const auto second = static_cast<int8_t>(row[part.columns + j] ^ flip);
        of_row += CorrectionOf(first, second) != 0 ? 1 : 0;
      }
      count += of_row;
    }
    total += count;
  });
  return total;
}

// True if few enough pairs saturate: each correction takes about as long as a quarter of a step of
// its panel.
bool SuitsInt8x4(absl::Span<const Int8Matrix> parts) {
  int64_t corrections = 0;
  int64_t columns = 0;
  for (const Int8Matrix& part : parts) {
    corrections += CountCorrections(part);
    columns += part.columns;
  }
  const int64_t steps = DivCeil(parts[0].rows, RowsPerStep(Int8Layout::kInt8x4));
  return corrections <= DivCeil(columns, Int8PanelWidth(Int8Layout::kInt8x4)) * steps / 2;
}

Int8Layout LayoutFor(absl::Span<const Int8Matrix> parts) {
  const Int8Layout best = BestInt8Layout();
  if (best != Int8Layout::kInt8x4) return best;
  return SuitsInt8x4(parts) ? Int8Layout::kInt8x4 : Int8Layout::kInt16x2;
}

// The parts with dense values, which `copies` hold where they were not dense.
absl::StatusOr<std::vector<Int8Matrix>> DenseParts(absl::Span<const Int8Matrix> parts,
                                                   std::vector<Tensor>& copies) {
  std::vector<Int8Matrix> dense(parts.begin(), parts.end());
  // No reallocation may move them.
  copies.reserve(parts.size());
  for (Int8Matrix& part : dense) {
    const Tensor& values = *part.values;
    if (values.is_dense()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(values.type(), values.shape()));
    CopyStrided(1, values.shape(), values.raw(), StridesOf(values), copy.mutable_raw(),
                StridesOf(copy));
    part.values = &copies.emplace_back(std::move(copy));
  }
  return dense;
}

}  // namespace

int64_t ColumnsOf(absl::Span<const Int8Matrix> parts) {
  int64_t columns = 0;
  for (const Int8Matrix& part : parts) columns += part.columns;
  return columns;
}

int64_t Int8Panels::num_panels() const { return DivCeil(columns_, panel_width()); }

int64_t Int8Panels::steps() const {
  const int64_t unit = StepUnit(layout_);
  return DivCeil(rows_, RowsPerStep(layout_) * unit) * unit;
}

Int8PanelView Int8Panels::view(int64_t panel) const {
  const int64_t column = panel * panel_width();
  Int8PanelView view;
  view.integers = panels_.data<int8_t>() + column * steps() * RowsPerStep(layout_);
  if (corrections_.has_value()) view.corrections = corrections_->OfPanel(panel);
  if (has_offsets_) view.offsets = offsets_.data<int32_t>() + column;
  view.sums = sums_.data<int32_t>() + column;
  return view;
}

absl::StatusOr<std::shared_ptr<const Int8Panels>> Int8Panels::Pack(
    absl::Span<const Int8Matrix> parts, Allocator& allocator) {
  std::vector<Tensor> copies;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Int8Matrix> dense, DenseParts(parts, copies));
  // No make_shared: it cannot call the private constructor.
  std::shared_ptr<Int8Panels> packed(
      new Int8Panels(parts[0].rows, ColumnsOf(parts), LayoutFor(dense)));
  ATTNRUN_RETURN_IF_ERROR(packed->Allocate(allocator));
  int64_t column = 0;
  for (const Int8Matrix& part : dense) {
    packed->PackPart(part, column);
    column += part.columns;
  }
  if (packed->layout_ == Int8Layout::kInt8x4) {
    ATTNRUN_ASSIGN_OR_RETURN(packed->corrections_,
                             SaturationCorrections::Clamp(packed->panels_, allocator));
  }
  return packed;
}

absl::Status Int8Panels::Allocate(Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(panels_, Tensor::Allocate(DataType::kInt8, PanelsShape(), allocator));
  ATTNRUN_ASSIGN_OR_RETURN(offsets_, Tensor::Allocate(DataType::kInt32, {columns_}, allocator));
  ATTNRUN_ASSIGN_OR_RETURN(sums_, Tensor::Allocate(DataType::kInt32, {columns_}, allocator));
  std::memset(panels_.mutable_raw(), 0, panels_.num_elements());
  return absl::OkStatus();
}

void Int8Panels::PackPart(const Int8Matrix& part, int64_t column) {
  const bool per_column = part.zero_points != nullptr && part.zero_points->num_elements() > 1;
  auto* const offsets = offsets_.mutable_data<int32_t>() + column;
  for (int64_t j = 0; j < part.columns; ++j) {
    const int zero =
        part.zero_points == nullptr ? 0 : ByteAt(*part.zero_points, per_column ? j : 0);
    offsets[j] = ShiftOf(part.values->type()) - zero;
    has_offsets_ = has_offsets_ || offsets[j] != 0;
  }
  const int64_t width = panel_width();
  const int64_t first = column / width;
  const int64_t last = DivCeil(column + part.columns, width);
  ParallelFor(last - first, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = first + begin; panel < first + end; ++panel) {
      PackPanel(part, column, panel);
    }
  });
}

void Int8Panels::PackPanel(const Int8Matrix& part, int64_t column, int64_t panel) {
  const int64_t begin = std::max(column, panel * panel_width());
  const int64_t end = std::min(column + part.columns, (panel + 1) * panel_width());
  std::fill(sums_.mutable_data<int32_t>() + begin, sums_.mutable_data<int32_t>() + end, 0);
  if (RowsPerStep(layout_) == 4) {
    PackColumns<4>(part, column, {begin, end});
  } else {
    PackColumns<2>(part, column, {begin, end});
  }
}

// Packs columns [begin, end), all in one panel; `column`: the first column of the part.
template <int kGroup>
void Int8Panels::PackColumns(const Int8Matrix& part, int64_t column, Columns columns) {
  const int64_t width = panel_width();
  const int64_t panel = columns.begin / width;
  const int8_t flip = FlipOf(part.values->type());
  const int8_t* from = part.values->data<int8_t>() + part.begin + (columns.begin - column);
  int8_t* to = panels_.mutable_data<int8_t>() + panel * steps() * width * kGroup;
  to += (columns.begin - panel * width) * kGroup;
  int32_t* const sums = sums_.mutable_data<int32_t>() + columns.begin;
  for (int64_t row = 0; row < rows_; row += kGroup, to += width * kGroup) {
    const auto count = static_cast<int>(std::min<int64_t>(kGroup, rows_ - row));
    for (int i = 0; i < count; ++i, from += part.columns) {
      for (int64_t j = 0; j < columns.end - columns.begin; ++j) {
        const auto value = static_cast<int8_t>(from[j] ^ flip);
        to[kGroup * j + i] = value;
        sums[j] += value;
      }
    }
  }
}

}  // namespace attnrun::ops
