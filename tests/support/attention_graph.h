// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_ATTENTION_GRAPH_H_
#define ATTNRUN_TESTS_SUPPORT_ATTENTION_GRAPH_H_

#include <cstdint>
#include <functional>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

// The pieces of an attention with two heads of 4 channels.
namespace attnrun::testing {

// Scores of 4 products, their exponentials and sums over at most 8 keys.
inline constexpr double kAttentionTolerance = 64 * kEpsilon;

// The heads [batch, 2, seq, 4] of x [batch, seq, 8]; for keys `transposed` to [batch, 2, 4, seq].
Value* Heads(GraphBuilder& b, Value* x, bool transposed = false);

// An input [batch, seq, 8].
Value* Input(GraphBuilder& b, const char* name);

// The product of the heads of the inputs "q" and "k".
Value* Scores(GraphBuilder& b);

// The rest of the attention: the product with the heads of the input "v", concatenated.
Value* Finish(GraphBuilder& b, Value* probabilities);

using Between = std::function<Value*(GraphBuilder&, Value*)>;

// An attention whose scores go through `between`.
OptimizerTester WithScores(const Between& between);

// Expects one attention, nothing left of the nodes it replaces, and the same results: at the
// default lengths, for single positions, and for more keys than a tile has.
void ExpectOneAttention(OptimizerTester test, double tolerance);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_ATTENTION_GRAPH_H_
