// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/grid.h"

#include <algorithm>

namespace attnrun::opt {
namespace {

SymInt Product(absl::Span<const SymInt> dims) {
  SymInt product(1);
  for (const SymInt& extent : dims) product = product * extent;
  return product;
}

// True if a view leaves queries and keys on the last two axes.
bool KeepsLastTwo(absl::Span<const SymInt> to, absl::Span<const SymInt> from) {
  const bool queries = to[to.size() - 2] == from[from.size() - 2];
  const bool keys = to.back() == from.back();
  if (queries && keys) return true;
  // A view keeps the number of elements. If the axes before agree and one of the two does, the
  // other agrees, too, even if its extent has another symbol.
  return (queries || keys) &&
         Product(to.first(to.size() - 2)) == Product(from.first(from.size() - 2));
}

// Views the scores, a grid so far, as queries and keys again.
void LeaveGrid(Scores& scores, const std::vector<SymInt>& dims) {
  scores.grid.clear();
  for (ScoreBias& bias : scores.biases) {
    if (!bias.operand.grid.empty()) bias.operand.dims = dims;
  }
  for (Scores::Mask& mask : scores.masks) {
    if (!mask.operand.grid.empty()) mask.operand.dims = dims;
  }
}

}  // namespace

std::optional<size_t> LeadingAxes(absl::Span<const SymInt> grid, absl::Span<const SymInt> scores) {
  size_t first = grid.size();
  for (const SymInt& whole : {scores[scores.size() - 1], scores[scores.size() - 2]}) {
    SymInt extent(1);
    while (extent != whole && first > 0) extent = extent * grid[--first];
    if (extent != whole) return std::nullopt;
  }
  return first;
}

bool RegroupScores(Scores& scores, absl::Span<const SymInt> from, const std::vector<SymInt>& to) {
  const bool is_grid = !scores.grid.empty();
  if (!is_grid && KeepsLastTwo(to, from)) return true;
  // Views keep the order of elements, so a view with the extents of queries and keys undoes the
  // grid.
  const std::vector<SymInt>& product = scores.matmul_dims;
  if (is_grid && std::equal(to.end() - 2, to.end(), product.end() - 2)) {
    LeaveGrid(scores, to);
    return true;
  }
  if (!LeadingAxes(to, product).has_value()) return false;
  scores.grid = to;
  return true;
}

}  // namespace attnrun::opt
