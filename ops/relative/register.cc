// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/relative/relative_positions.h"
#include "ops/relative/relative_scores.h"
#include "ops/relative/relative_to_absolute.h"

namespace attnrun::ops {

void RegisterRelative(OpRegistry& registry) {
  registry.Register({"attnrun", "RelativePositions", {1}, {2, 2}, {1, 1}, Make<RelativePositions>});
  registry.Register({"attnrun", "RelativeScores", {1}, {3, 24}, {1, 1}, Make<RelativeScores>});
  registry.Register({"attnrun",
                     "RelativeToAbsolute",
                     {1},
                     {2, 2},
                     {1, 1},
                     Make<RelativeToAbsolute>,
                     kMovesElements});
}

}  // namespace attnrun::ops
