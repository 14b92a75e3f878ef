// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_

#include "graph/graph.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// An operand that broadcasts to the scores at the step where it enters: `scores` are the elements
// of the product as they lie there.
struct ScoreTerm {
  Value* value = nullptr;
  View scores = {};
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_TERM_H_
