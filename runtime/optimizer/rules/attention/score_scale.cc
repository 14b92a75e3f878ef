// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/score_scale.h"

#include "optimizer/rules/attention/score_masks.h"

namespace attnrun::opt {

bool ScaleScores(Scores& scores, double factor) {
  if (scores.softcap != 0 || (scores.floored > 0 && factor <= 0)) return false;
  if (!scores.masks.empty()) scores.mask_value *= factor;
  if (!IsMaskValue(scores.mask_value)) return false;
  for (ScoreBias& bias : scores.biases) bias.factor *= factor;
  scores.floor *= factor;
  scores.scale *= factor;
  return true;
}

bool CapScores(Scores& scores, double cap) {
  if (scores.softcap != 0 || !scores.biases.empty() || !scores.masks.empty() || cap <= 0 ||
      scores.shifted) {
    return false;
  }
  scores.softcap = cap;
  scores.scale *= cap;
  return true;
}

}  // namespace attnrun::opt
