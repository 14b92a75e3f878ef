// SPDX-License-Identifier: Apache-2.0

// How Int8Panels are shared within the process and kept beyond it.

#include <vector>

#include "core/status.h"
#include "ops/gemm/int8_panels.h"
#include "ops/gemm/weight_memory.h"

namespace attnrun::ops {
namespace {

// Facts of a store's bytes: the layout, and this bit if the panels have offsets.
constexpr uint64_t kHasOffsets = 256;

PackedRecipe RecipeOf(absl::Span<const Int8Matrix> parts) {
  PackedRecipe recipe;
  const Int8Layout best = BestInt8Layout();
  recipe.numbers = {static_cast<int64_t>(PackedKind::kInt8), static_cast<int64_t>(best),
                    Int8PanelWidth(best)};
  for (const Int8Matrix& part : parts) {
    const Tensor& values = *part.values;
    AppendTensor(values.is_dense()
                     ? values.View({part.rows, part.columns}, {part.columns, 1}, part.begin)
                     : values,
                 recipe);
    AppendTensor(part.zero_points == nullptr ? Tensor() : *part.zero_points, recipe);
  }
  return recipe;
}

// True if a weight that is packed on this machine may have this layout.
bool IsPossible(uint64_t layout) {
  const Int8Layout best = BestInt8Layout();
  return layout == static_cast<uint64_t>(best) ||
         (best == Int8Layout::kInt8x4 && layout == static_cast<uint64_t>(Int8Layout::kInt16x2));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Int8Panels>> Int8Panels::PackShared(
    absl::Span<const Int8Matrix> parts, PackedStore* store) {
  const int64_t rows = parts[0].rows;
  const int64_t columns = ColumnsOf(parts);
  if (rows == 0 || columns == 0) store = nullptr;
  return FindOrPack<Int8Panels>(
      store, RecipeOf(parts), [&](const PackedBytes& bytes) { return Read(rows, columns, bytes); },
      [&] { return PackOnHeap(parts); });
}

absl::StatusOr<std::shared_ptr<const Int8Panels>> Int8Panels::PackOnHeap(
    absl::Span<const Int8Matrix> parts) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::shared_ptr<const Int8Panels> packed,
                           Pack(parts, WeightMemory()));
  return ShareLive(packed);
}

PackedBytes Int8Panels::bytes() const {
  PackedBytes bytes = {static_cast<uint64_t>(layout_) | (has_offsets_ ? kHasOffsets : 0),
                       {panels_, offsets_, sums_}};
  if (!corrections_.has_value()) return bytes;
  bytes.parts.push_back(corrections_->ends());
  bytes.parts.push_back(corrections_->list());
  return bytes;
}

std::shared_ptr<const Int8Panels> Int8Panels::Read(int64_t rows, int64_t columns,
                                                   const PackedBytes& bytes) {
  const uint64_t layout = bytes.facts & ~kHasOffsets;
  if (!IsPossible(layout)) return nullptr;
  std::shared_ptr<Int8Panels> packed(
      new Int8Panels(rows, columns, static_cast<Int8Layout>(layout)));
  const bool corrects = packed->layout_ == Int8Layout::kInt8x4;
  const std::vector<Tensor>& parts = bytes.parts;
  if (parts.size() != (corrects ? 5 : 3)) return nullptr;
  packed->has_offsets_ = (bytes.facts & kHasOffsets) != 0;
  packed->panels_ = BytesAs(parts[0], DataType::kInt8, packed->PanelsShape());
  packed->offsets_ = BytesAs(parts[1], DataType::kInt32, {columns});
  packed->sums_ = BytesAs(parts[2], DataType::kInt32, {columns});
  if (!packed->panels_.defined() || !packed->offsets_.defined() || !packed->sums_.defined()) {
    return nullptr;
  }
  if (!corrects) return packed;
  packed->corrections_ = SaturationCorrections::Of(packed->PanelsShape(), parts[3], parts[4]);
  return packed->corrections_.has_value() ? packed : nullptr;
}

bool Int8Panels::HasExtentsOf(const Int8Panels& other) const {
  return rows_ == other.rows_ && columns_ == other.columns_;
}

}  // namespace attnrun::ops
