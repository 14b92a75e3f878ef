// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/scattered_box.h"

#include <string>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

// True if the numbers grow by one along this axis of theirs, and along no other.
bool CountsAlong(const View& numbers, int along) {
  for (int axis = 0; axis < numbers.rank(); ++axis) {
    const ViewAxis& factors = numbers.axes()[axis];
    if (factors.empty()) continue;
    if (factors.size() > 1 || !factors[0].stride.is_constant(axis == along ? 1 : 0)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<AxisPart>> ScatteredBox(const Node& scatter, Facts& facts) {
  if (AttributeOr<std::string>(scatter, "reduction", "none") != "none") return std::nullopt;
  const auto indices = TuplePositionsOf(scatter.input(1), facts);
  const std::vector<SymInt>* dims = facts.DimsOf(scatter.input(0));
  const std::vector<SymInt>* updates = facts.DimsOf(scatter.input(2));
  if (!indices.has_value() || dims == nullptr || updates == nullptr) return std::nullopt;
  const int count = static_cast<int>(indices->size());
  if (updates->size() != dims->size() || count > std::ssize(*dims)) return std::nullopt;
  std::vector<AxisPart> box;
  std::vector<SymInt> written = *dims;
  for (int axis = 0; axis < count; ++axis) {
    const View& places = (*indices)[axis];
    if (places.rank() != count || !CountsAlong(places, axis)) return std::nullopt;
    const SymInt extent = places.Extent(axis);
    if (places.offset().is_constant(0) && extent == (*dims)[axis]) continue;
    // A negative index would count from the end.
    if (places.offset().constant().value_or(-1) < 0) return std::nullopt;
    box.push_back({axis, places.offset(), extent});
    written[axis] = extent;
  }
  return written == *updates ? std::optional(box) : std::nullopt;
}

}  // namespace attnrun::opt
