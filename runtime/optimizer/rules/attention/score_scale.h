// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_SCALE_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_SCALE_H_

#include "optimizer/rules/attention/scores.h"

// These functions record in `Scores` a factor that is one number, or cap * tanh(scores / cap). They
// return false if it does not combine with an earlier step; the scores must then not be used.
namespace attnrun::opt {

// Multiplies the scores, and all that was added to them so far, by `factor`.
bool ScaleScores(Scores& scores, double factor);

// Records the softcap. The division by `cap` must be a part of the scale already.
bool CapScores(Scores& scores, double cap);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_SCALE_H_
