// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_

#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// An operand that broadcasts to the scores at the step where it enters: `dims` are the scores'
// extents there, the last two of which are queries and keys.
struct ScoreTerm {
  Value* value = nullptr;
  std::vector<SymInt> dims;
  // If not empty, the operand broadcasts to this grid view of scores of `dims`: queries or keys lie
  // on several axes, such as the rows and columns of an image.
  std::vector<SymInt> grid = {};
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_
