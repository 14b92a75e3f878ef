// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_SCALE_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_SCALE_H_

#include "optimizer/rules/attention/scores.h"

// Records in `Scores` a factor that is one number, or cap * tanh(scores / cap). Returns false if it
// does not combine with what is recorded already; the scores are then of no use.
namespace attnrun::opt {

// With all that was done to the scores before.
bool ScaleScores(Scores& scores, double factor);

// The quotient is a part of the scale by then.
bool CapScores(Scores& scores, double cap);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_SCALE_H_
