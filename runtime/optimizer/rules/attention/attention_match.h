// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_MATCH_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_MATCH_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ops/attention/head_layout.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rules/attention/head_axes.h"
#include "optimizer/rules/attention/probabilities.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// Q, K or V, an operand of a product: [..., rows, channels], or [..., channels, rows] if
// `transposed`.
struct HeadOperand {
  Value* value = nullptr;
  bool transposed = false;
  // How the axes before the channels become samples, heads and rows.
  AxisMap axes;
  // The layout by which heads are then read from it.
  ops::HeadLayout layout;
};

// A Softmax and the parts of an attention around it.
struct AttentionMatch {
  Scores scores;
  Probabilities probabilities;
  // The extents of the product with V.
  std::vector<SymInt> product_dims;
  HeadAxes axes;
  // Q, K and V.
  std::array<HeadOperand, 3> operands;
};

// Finds the parts. If one is missing, `why` says which; it stays empty for a Softmax that leads to
// no product, as a classifier's.
std::optional<AttentionMatch> MatchAttention(const Node& softmax, Facts& facts, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_MATCH_H_
