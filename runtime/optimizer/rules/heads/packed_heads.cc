// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/heads/packed_heads.h"

#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// The heads that a view [B, N, S, H] or [B, S, N, H] selects from a base [B, S, W].
std::optional<PackedHeads> AsPacked(const View& view, const View& base, Value* value) {
  if (view.rank() != 4 || base.rank() != 3) return std::nullopt;
  if (view.axes()[0] != base.axes()[0]) return std::nullopt;
  PackedHeads packed;
  packed.base = value;
  packed.heads_first = view.axes()[1] != base.axes()[1];
  const int heads_axis = packed.heads_first ? 1 : 2;
  if (packed.heads_first && view.axes()[2] != base.axes()[1]) return std::nullopt;
  const auto width = base.Extent(2).constant();
  const auto size = view.Extent(3).constant();
  const auto count = view.Extent(heads_axis).constant();
  const auto first = view.offset().constant();
  if (!width.has_value() || !size.has_value() || !count.has_value() || !first.has_value()) {
    return std::nullopt;
  }
  const ViewAxis& channels = view.axes()[3];
  const bool side_by_side = channels.size() == 1 && channels[0].stride.is_constant(1);
  if (*size < 2 || *count < 1 || !side_by_side) return std::nullopt;
  const ViewAxis& heads = view.axes()[heads_axis];
  const auto step = heads.empty() ? size : heads[0].stride.constant();
  if (heads.size() > 1 || !step.has_value() || *step < *size) return std::nullopt;
  // Heads must lie side by side, or one in each of equal blocks of a row.
  const bool blocks = *step * *count == *width && *first + *size <= *step;
  if (*first < 0 || *first + *step * (*count - 1) + *size > *width) return std::nullopt;
  if (*step != *size && !blocks) return std::nullopt;
  packed.width = *width;
  packed.head_size = *size;
  packed.step = *step;
  for (int64_t head = 0; head < *count; ++head) packed.offsets.push_back(*first + head * *step);
  return packed;
}

Value* SliceLast(Patch& patch, Value* value, int64_t axis, int64_t begin, int64_t end) {
  return patch.Op("Slice", {value, patch.Ints({begin}), patch.Ints({end}), patch.Ints({axis})});
}

}  // namespace

std::optional<PackedHeads> FindPackedHeads(Value* value, int64_t heads, Facts& facts) {
  const std::vector<Traced> chain = Trace(value, facts);
  for (size_t i = chain.size(); i-- > 0;) {
    const std::vector<SymInt>& dims = *facts.DimsOf(chain[i].base);
    std::optional<View> view = chain[i].view;
    const bool merged = view->rank() == 3;
    if (merged) {
      const auto size =
          heads < 1 ? std::nullopt : SymInt::DivideExactly(view->Extent(2), SymInt(heads));
      if (!size.has_value()) return std::nullopt;
      view = view->Reshaped({view->Extent(0), view->Extent(1), SymInt(heads), *size});
    }
    auto packed =
        view.has_value() ? AsPacked(*view, View::Dense(dims), chain[i].base) : std::nullopt;
    if (!packed.has_value() || (merged && packed->heads_first)) continue;
    // Merged heads are one slice of the row, so they must lie side by side.
    if (merged && packed->step != packed->head_size) continue;
    packed->merged = merged;
    return packed;
  }
  return std::nullopt;
}

Value* UnpackHeads(Patch& patch, Value* packed, const PackedHeads& heads) {
  const auto count = static_cast<int64_t>(heads.offsets.size());
  const int64_t first = heads.offsets[0];
  const int64_t size = heads.head_size;
  Value* value = packed;
  if (heads.step == size) {
    const bool whole = count * size == heads.width;
    if (!whole) value = SliceLast(patch, value, 2, first, first + count * size);
    if (heads.merged) return value;
    value = patch.Op("Reshape", {value, patch.Ints({0, 0, count, size})});
  } else {
    value = patch.Op("Reshape", {value, patch.Ints({0, 0, count, heads.step})});
    value = SliceLast(patch, value, 3, first, first + size);
  }
  if (!heads.heads_first) return value;
  return patch.Op("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

}  // namespace attnrun::opt
