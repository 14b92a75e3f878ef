// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/joined_parts.h"

#include "absl/algorithm/container.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {

std::vector<ViewAxis> BatchAxes(const View& matrices) {
  return {matrices.axes().begin(), matrices.axes().end() - 2};
}

Value* JoinedParts(const std::vector<Value*>& parts, int from_last, absl::Span<Value* const> like,
                   Patch& patch) {
  if (absl::c_linear_search(parts, nullptr)) return nullptr;
  if (parts.size() == 1) return parts[0];
  const int axis = patch.facts().RankOf(parts[0]) - from_last;
  if (axis < 0) return nullptr;
  std::vector<SymInt> common(axis + from_last, SymInt(1));
  for (const Value* part : parts) {
    const std::vector<SymInt>* dims = patch.facts().DimsOf(part);
    if (dims == nullptr || dims->size() != common.size()) return nullptr;
    for (size_t i = 0; i < common.size(); ++i) {
      if (!(*dims)[i].is_constant(1)) common[i] = (*dims)[i];
    }
  }
  // A part keeps its own extent along the axis.
  common[axis] = SymInt(1);
  std::vector<Value*> even;
  for (Value* part : parts) {
    std::vector<SymInt> dims = *patch.facts().DimsOf(part);
    dims[axis] = SymInt(1);
    Value* shape = dims == common ? nullptr : ShapeOperand(patch, common, like);
    if (dims != common && shape == nullptr) return nullptr;
    even.push_back(shape == nullptr ? part : patch.Op("Expand", {part, shape}));
  }
  return patch.Op("Concat", even, {{"axis", int64_t{axis}}});
}

}  // namespace attnrun::opt
