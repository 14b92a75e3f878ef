// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/pads.h"

#include <numeric>

#include "ops/interface/infer_rules.h"

namespace attnrun::opt {
namespace {

// The axes that a Pad names, or all of them.
std::optional<std::vector<int64_t>> PaddedAxes(const Node& pad, int rank, Facts& facts) {
  if (pad.input(3) != nullptr) return KnownInts(pad.input(3), facts);
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

std::optional<std::vector<int64_t>> PadsOf(const Node& pad, int rank, Facts& facts) {
  const auto given = KnownInts(pad, "pads", 1, facts);
  if (rank < 0 || !given.has_value()) return std::nullopt;
  const auto axes = PaddedAxes(pad, rank, facts);
  if (!axes.has_value() || given->size() != 2 * axes->size()) return std::nullopt;
  std::vector<int64_t> pads(2 * rank, 0);
  std::vector<bool> seen(rank, false);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = ops::KnownAxis((*axes)[i], rank);
    if (!axis.has_value() || seen[*axis]) return std::nullopt;
    seen[*axis] = true;
    pads[*axis] = (*given)[i];
    pads[*axis + rank] = (*given)[i + axes->size()];
  }
  return pads;
}

}  // namespace attnrun::opt
