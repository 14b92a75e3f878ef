// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_ORDER_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_ORDER_H_

#include <cstdint>
#include <vector>

#include "optimizer/rewrite/patch.h"

// Helpers of the rules that compute scores in another order of axes than the graph has them.
namespace attnrun::opt {

// How a Transpose of a value of `rank` axes rearranges the matrices of a stack; empty where the
// node is none, or does something else.
std::vector<int64_t> StackOrder(const Node* node, int rank);

// The permutation that undoes `order`.
std::vector<int64_t> Inverse(const std::vector<int64_t>& order);

// True if the node computes scores from scores element by element, so that it may do so in any
// order of their axes.
bool IsScoreArithmetic(const Node* node);

// True if a Softmax is over the last of `rank` axes alone.
bool IsOverKeys(const Node& softmax, int rank);

// The Softmax of `scores` in place of this one, with a Transpose by `order` behind it; what undoes
// that reads the probabilities as they are.
void TransposeBehind(Node* softmax, Value* scores, const std::vector<int64_t>& order, Patch& patch);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_ORDER_H_
