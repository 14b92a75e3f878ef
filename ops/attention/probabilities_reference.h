// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_PROBABILITIES_REFERENCE_H_
#define ATTNRUN_OPS_ATTENTION_PROBABILITIES_REFERENCE_H_

#include <vector>

#include "attnrun/data_type.h"

namespace attnrun::ops {

// Rounds a score to the precision in which a graph of `type` holds it: small scores vanish beside a
// mask of -1e9.
double AsHeld(DataType type, double score);

// The softmax of a row of scores; `masked_row` in every place if all scores are -inf.
std::vector<double> Probabilities(const std::vector<double>& scores, double masked_row);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_PROBABILITIES_REFERENCE_H_
