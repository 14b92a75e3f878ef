// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/heads/packed_heads.h"

#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// The heads that a view [B, S, N, H] selects from a base [B, S, W].
std::optional<PackedHeads> AsPacked(const View& view, const View& base, Value* value) {
  if (base.rank() != 3) return std::nullopt;
  if (view.axes()[0] != base.axes()[0] || view.axes()[1] != base.axes()[1]) return std::nullopt;
  const auto width = base.Extent(2).constant();
  const auto count = view.Extent(2).constant();
  const auto size = view.Extent(3).constant();
  const auto first = view.offset().constant();
  if (!width.has_value() || !size.has_value() || !count.has_value() || !first.has_value()) {
    return std::nullopt;
  }
  const ViewAxis& heads = view.axes()[2];
  const ViewAxis& channels = view.axes()[3];
  const bool side_by_side = channels.size() == 1 && channels[0].stride.is_constant(1);
  if (*size < 2 || *count < 1 || !side_by_side) return std::nullopt;
  const auto step = heads.empty() ? size : heads[0].stride.constant();
  if (heads.size() > 1 || !step.has_value() || *step < *size) return std::nullopt;
  if (*first < 0 || *first + *step * (*count - 1) + *size > *width) return std::nullopt;
  PackedHeads packed = {.base = value, .width = *width, .offsets = {}, .head_size = *size};
  for (int64_t head = 0; head < *count; ++head) packed.offsets.push_back(*first + head * *step);
  return packed;
}

// True if each node from the base to the value takes views of its first input.
bool AreViewsBetween(const Value* base, const Value* value) {
  while (value != base && value->producer() != nullptr && MovesElements(*value->producer())) {
    value = value->producer()->input(0);
  }
  return value == base;
}

}  // namespace

std::optional<PackedHeads> FindPackedHeads(Value* value, int64_t heads, Facts& facts) {
  const std::vector<Traced> chain = Trace(value, facts);
  for (size_t i = chain.size(); i-- > 0;) {
    const View base = View::Dense(*facts.DimsOf(chain[i].base));
    std::vector<View> views = {chain[i].view};
    if (views[0].rank() == 3) {
      const auto size =
          heads < 1 ? std::nullopt : SymInt::DivideExactly(views[0].Extent(2), SymInt(heads));
      if (!size.has_value()) return std::nullopt;
      const auto split =
          views[0].Reshaped({views[0].Extent(0), views[0].Extent(1), SymInt(heads), *size});
      if (!split.has_value()) continue;
      views = {*split};
    } else if (views[0].rank() == 4) {
      views.push_back(views[0].Transposed({0, 2, 1, 3}));
    } else {
      return std::nullopt;
    }
    for (const View& view : views) {
      auto packed = AsPacked(view, base, chain[i].base);
      if (packed.has_value() && AreViewsBetween(chain[i].base, value)) return packed;
    }
  }
  return std::nullopt;
}

}  // namespace attnrun::opt
