// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_ATTENTION_PARTS_H_
#define ATTNRUN_TESTS_FUZZ_ATTENTION_PARTS_H_

#include "fuzz/graph_maker.h"

namespace attnrun::testing {

struct AttentionShape {
  int64_t heads = 1;
  // A divisor of `heads`.
  int64_t kv_heads = 1;
  // Columns of one head of Q and K, and of one head of V.
  int64_t width = 1;
  int64_t value_width = 1;
  // True if batch and heads are one axis.
  bool folded = false;
};

// Q is [B N S H], K transposed [B N H T], V [B N T H]; one axis less if batch and heads are folded.
struct Operands {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
};

// Projects x [B S D] and memory [B T D'], by one product or three.
Operands AddOperands(GraphMaker& maker, Value* x, Value* memory, const AttentionShape& shape);

// Q·K, scaled, capped, biased and masked, in a random spelling: [B N S T].
Value* AddScores(GraphMaker& maker, const Operands& operands, const AttentionShape& shape);

// The softmax of the scores, with the extra nodes that exporters put around it.
Value* AddProbabilities(GraphMaker& maker, Value* scores);

// Reshapes back to [B S N·H]; often adds a projection and the residual.
Value* AddMergedHeads(GraphMaker& maker, Value* y, Value* x, const AttentionShape& shape);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_ATTENTION_PARTS_H_
