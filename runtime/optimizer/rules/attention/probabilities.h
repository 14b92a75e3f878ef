// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_

#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// The steps between the output of a Softmax and the product with V.
struct Probabilities {
  // A row without any open key gives 0, not NaN.
  bool zero_rows = false;
  // Every NaN gives 0: IsNaN and Where stand behind the Softmax.
  bool guarded = false;
  // Keys that the scores' mask closes get 0 once more, by a Where behind the Softmax. Scores of
  // float's least number gave 0 there anyway, but in a row without any open key.
  bool closes_masked = false;
  // All between the Softmax and the product, in order.
  std::vector<Node*> nodes;
  // The probabilities after any guard, after each Cast and regrouping: what others may read.
  std::vector<Value*> values;
  // MatMul of P [..., S, T] and V [..., T, H]; null if none follows.
  Node* product = nullptr;
};

// `scores`: what the Softmax reads, or null if that is no product.
Probabilities FollowProbabilities(const Node& softmax, const Scores* scores, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_
