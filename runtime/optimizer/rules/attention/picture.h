// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_PICTURE_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_PICTURE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/rules/attention/scores.h"

//   scores [B*N, S, T]    viewed as    [B*N, Sh, Sw, Th, Tw],    S = Sh Sw, T = Th Tw
//
// Views of scores in which queries or keys lie on several axes, such as the rows and columns of a
// picture (ScoreTerm::picture, Scores::picture).
namespace attnrun::opt {

// How many axes of a picture of scores [..., S, T] stand before those of the queries; nullopt if
// queries and keys have no axes of their own there.
std::optional<size_t> LeadingAxes(absl::Span<const SymInt> picture,
                                  absl::Span<const SymInt> scores);

// By a view of extents `from`, which they have, the scores get extents `to`: other axes before
// queries and keys, a picture, or queries and keys again. false for other views.
bool RegroupScores(Scores& scores, absl::Span<const SymInt> from, const std::vector<SymInt>& to);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_PICTURE_H_
