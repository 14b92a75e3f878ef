// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_ATTENTION_GRAPH_H_
#define ATTNRUN_TESTS_SUPPORT_ATTENTION_GRAPH_H_

#include <cstdint>
#include <functional>
#include <initializer_list>

#include "support/optimizer_tester.h"

// The pieces of an attention of two heads of 4 channels.
namespace attnrun::testing {

// Scores of 4 products, exponentials of them, sums over at most 8 keys.
inline constexpr double kAttentionTolerance = 64 * kEpsilon;

// Heads [batch, 2, seq, 4] of x [batch, seq, 8], positions and channels swapped for keys.
Value* Heads(GraphBuilder& b, Value* x, bool transposed = false);

// [batch, seq, 8]
Value* Input(GraphBuilder& b, const char* name);

// The products of the heads of inputs "q" and "k".
Value* Scores(GraphBuilder& b);

// The rest of attention: the product with the heads of input "v", and these side by side.
Value* Finish(GraphBuilder& b, Value* probabilities);

Value* Number(GraphBuilder& b, float number);

Value* Shaped(GraphBuilder& b, Value* x, std::initializer_list<int64_t> shape);

using Between = std::function<Value*(GraphBuilder&, Value*)>;

// Attention with something done to the scores.
OptimizerTester WithScores(const Between& between);

// Expects one attention, nothing left of what it was made of, and the same results: for the lengths
// as they are, for single positions, and for more keys than a tile has.
void ExpectOneAttention(OptimizerTester test, double tolerance);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_ATTENTION_GRAPH_H_
