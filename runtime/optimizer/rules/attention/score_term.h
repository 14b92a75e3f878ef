// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_

#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// Something that broadcasts to the scores as they were where it came in: `dims`, whose last two
// are queries and keys.
struct ScoreTerm {
  Value* value = nullptr;
  std::vector<SymInt> dims;
  // If not empty, what it broadcasts to: a view of scores of `dims` in which queries or keys lie on
  // several axes, as rows and columns of a picture.
  std::vector<SymInt> picture = {};
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_
