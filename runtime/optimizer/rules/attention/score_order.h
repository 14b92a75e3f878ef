// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_ORDER_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_ORDER_H_

#include <cstdint>
#include <vector>

#include "optimizer/rewrite/patch.h"

// Helpers of the rules that compute scores with their axes in another order than the graph has.
namespace attnrun::opt {

// The permutation of a Transpose that rearranges only the axes before the last two, for a value of
// `rank` axes; empty if the node does anything else.
std::vector<int64_t> StackOrder(const Node* node, int rank);

// The permutation that undoes `order`.
std::vector<int64_t> Inverse(const std::vector<int64_t>& order);

// True if the node computes scores from scores element by element and so works for any order of
// their axes.
bool IsScoreArithmetic(const Node* node);

// True if a Softmax is over the last of `rank` axes alone.
bool IsOverKeys(const Node& softmax, int rank);

// Replaces `softmax` by a Softmax of `scores` with a Transpose by `order` behind it. Readers that
// undo this Transpose read the new probabilities directly.
void TransposeBehind(Node* softmax, Value* scores, const std::vector<int64_t>& order, Patch& patch);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORE_ORDER_H_
