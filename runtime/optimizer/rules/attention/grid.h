// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_GRID_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_GRID_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/rules/attention/scores.h"

//   scores [B*N, S, T]    viewed as    [B*N, Sh, Sw, Th, Tw],    S = Sh Sw, T = Th Tw
//
// Views of scores as a 2-D grid of positions: queries or keys lie on several axes, such as the rows
// and columns of an image (ScoreTerm::grid, Scores::grid).
namespace attnrun::opt {

// The number of axes before those of the queries in a grid view of scores [..., S, T]; nullopt if
// no axes of the view make up the queries and the keys.
std::optional<size_t> LeadingAxes(absl::Span<const SymInt> grid, absl::Span<const SymInt> scores);

// Records that a view changes the scores' extents from `from` to `to`: it regroups the axes before
// queries and keys, begins a grid view, or ends one. Returns false for any other view.
bool RegroupScores(Scores& scores, absl::Span<const SymInt> from, const std::vector<SymInt>& to);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_GRID_H_
