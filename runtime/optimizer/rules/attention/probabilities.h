// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_

#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {

// The steps between the output of a Softmax and the product with V.
struct Probabilities {
  // A row in which all keys are masked gives 0, not NaN.
  bool zero_rows = false;
  // Every NaN becomes 0, by an IsNaN and a Where behind the Softmax.
  bool guarded = false;
  // A Where behind the Softmax sets masked keys to 0 once more. Scores of the lowest float gave 0
  // there anyway, except in a row whose keys are all masked.
  bool closes_masked = false;
  // All nodes between the Softmax and the product, in order.
  std::vector<Node*> nodes;
  // The probabilities behind each guard, Cast and regrouping, any of which other nodes may read.
  std::vector<Value*> values;
  // MatMul of P [..., S, T] and V [..., T, H]; null if none follows.
  Node* product = nullptr;
};

// Walks from a Softmax down to the product of its probabilities with V. `scores` are those that the
// Softmax reads, or null if it reads no product.
Probabilities FollowProbabilities(const Node& softmax, const Scores* scores, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_
