// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_MATCH_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_MATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/head_axes.h"
#include "optimizer/rules/attention/heads.h"
#include "optimizer/rules/attention/probabilities.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// A Softmax and the parts of an attention around it.
struct AttentionMatch {
  Scores scores;
  Probabilities probabilities;
  // The extents of the product with V.
  std::vector<SymInt> product_dims;
  HeadAxes axes;
  HeadOperand q;
  HeadOperand k;
  HeadOperand v;
};

// Finds the parts. If one is missing, `why` says which; it stays empty for a Softmax that leads to
// no product, as a classifier's.
std::optional<AttentionMatch> MatchAttention(const Node& softmax, Facts& facts, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_MATCH_H_
