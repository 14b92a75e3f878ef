// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_STEPS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_STEPS_H_

#include <string>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/scores.h"

// Steps between the product and the Softmax:
//
//   scores * factor                                            ScaleScores
//   cap * tanh(scores / cap)                                   CapScores
//   Where(mask, scores, mask_value)                            MaskScores
//   scores * b + mask_value * (1 - b), where b is 1 or 0       KeepScores, then AddsMaskValue
//   Max(scores + bias, mask_value)                             FloorScores
//
// The functions record the step in `Scores`. They return false if it does not combine with an
// earlier one; the scores must then not be used.
namespace attnrun::opt {

// True if the number can be a mask value: finite or -inf. NaN and +inf make a whole row NaN instead
// of masking it.
bool IsMaskValue(double number);

// True if adding the number absorbs any score: its size is near that of the lowest float.
bool Absorbs(double number);

// The scores of a model are smaller than this; constants of its size mask.
inline constexpr double kLargeScore = 1e3;

// True if no element is a mask value, as far as the constants tell from which the value is
// computed: those are less than `large` in size, and the rest are products of activations, as
// scores are themselves. False for what is given to the model.
bool IsOrdinary(const Value* value, Facts& facts, double large = kLargeScore);

// The least that an element may be, where all are chosen among numbers or are scores themselves.
std::optional<double> LeastOf(const Value* value, Facts& facts);

// True if all elements are 1 or 0.
bool IsOneOrZero(const Value* value, Facts& facts);

// Multiplies the scores, and all that was added to them so far, by `factor`.
bool ScaleScores(Scores& scores, double factor);

// Records the softcap. The division by `cap` must be a part of the scale already.
bool CapScores(Scores& scores, double cap);

// Records that `where` sets the scores to `number` where the mask is false. Sets `why` if another
// mask value was recorded before.
bool MaskScores(Scores& scores, Scores::Mask mask, double number, const Node& where,
                std::string& why);

// Records that finite scores, with biases that do not mask, are multiplied by 1 or 0.
bool KeepScores(Scores& scores, ScoreTerm kept, Facts& facts);

// True if `term` is mask_value * (1 - b) for the factor b that KeepScores recorded; `sign` times
// the mask value is then added to the recorded one. GPT and GPT-2 masked like this before they used
// Where.
bool AddsMaskValue(Scores& scores, const Value* term, double sign);

// Records max(scores + biases, floor), as in XGLM, with a floor so low that only masked scores
// reach it.
bool FloorScores(Scores& scores, double floor);

// True if `sum` may add a bias to the scores, masked or not. Sets `why` if a mask is in the way.
bool TakesBias(Scores& scores, const Node& sum, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_STEPS_H_
