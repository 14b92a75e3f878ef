// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_

#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"
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
  // The probabilities behind each guard, Cast and view, any of which other nodes may read.
  // `scores` are the elements of the scores' product as they lie there.
  struct Step {
    Value* value;
    View scores;
  };
  std::vector<Step> steps;
  // The same for the operand of the product.
  View view;
  // The Softmax's axis, as it lies in the scores' product.
  ViewAxis keys;
  // MatMul of P [..., S, T] and V [..., T, H], or of V [..., H, T] and P [..., T, S]; null if none
  // follows.
  Node* product = nullptr;
  // The operand of the product that the probabilities are.
  int side = 0;

  Value* values_operand() const { return product->input(1 - side); }
  // The axes of the product: its queries, and the channels of V.
  int queries_axis() const { return view.rank() - 2 + side; }
  int channels_axis() const { return view.rank() - 1 - side; }
};

// Walks from a Softmax over `axis` down to the product of its probabilities with V. `scores` are
// those that the Softmax reads, or null if it reads no product.
Probabilities FollowProbabilities(const Node& softmax, int axis, const Scores* scores,
                                  Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_PROBABILITIES_H_
