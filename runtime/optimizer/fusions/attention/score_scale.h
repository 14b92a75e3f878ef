#ifndef ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_SCORE_SCALE_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_SCORE_SCALE_H_

#include "optimizer/fusions/attention/scores.h"

// Scores times one number, and cap * tanh(scores / cap), told of `Scores`; false where these have
// what does not go with it: they are of no use then.
namespace attnrun {

// With all that was done to the scores before.
bool ScaleScores(Scores& scores, double factor);

// The quotient is a part of the scale by then.
bool CapScores(Scores& scores, double cap);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_SCORE_SCALE_H_
