// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_MASKS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_MASKS_H_

#include <string>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/scores.h"

// What closes keys on the way from the product to the Softmax:
//
//   Where(open, scores, closed)                            MaskScores
//   scores * b + closed * (1 - b), where b is 1 or 0       KeepScores, then IsClosing
//   Max(scores + bias, closed)                             FloorScores
//
// The functions tell `Scores` of it, and return false where these have what does not go with it;
// they are of no use then.
namespace attnrun::opt {

// Whether a masked score may be this number. Rows that hold NaN or infinity come to NaN, which is
// no row masked everywhere.
bool IsMaskValue(double number);

// Whether scores vanish next to the number: of the size of float's least one.
bool Swallows(double number);

// Whether all elements are 1 or 0.
bool IsOneOrZero(const Value* value, Facts& facts);

// By `where` the scores become `number` where the mask is not true. `why` tells of scores that are
// already masked by another one.
bool MaskScores(Scores& scores, Scores::Mask mask, double number, const Node& where,
                std::string& why);

// Finite scores times 1 or 0.
bool KeepScores(Scores& scores, ScoreTerm kept);

// What GPT and GPT-2 had before Where. Whether `term` is closed * (1 - b), of the b that the scores
// were multiplied by; times `sign` it then is what they are masked by.
bool IsClosing(Scores& scores, const Value* term, double sign);

// max(scores + biases, floor), as XGLM has it, with a floor that swallows: only what closes can be
// that low.
bool FloorScores(Scores& scores, double floor);

// Whether something may be added by `sum`, whatever the scores are masked by. `why` tells of a mask
// that is in the way.
bool TakesBias(Scores& scores, const Node& sum, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_MASKS_H_
