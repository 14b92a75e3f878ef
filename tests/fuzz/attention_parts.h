// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_ATTENTION_PARTS_H_
#define ATTNRUN_TESTS_FUZZ_ATTENTION_PARTS_H_

#include "fuzz/graph_maker.h"

namespace attnrun::testing {

struct AttentionShape {
  int64_t heads = 1;
  // A divisor of heads.
  int64_t kv_heads = 1;
  // Columns of a head of Q and K, and of V.
  int64_t width = 1;
  int64_t value_width = 1;
  // Whether batch and heads are one axis.
  bool folded = false;
};

// Q [B N S H]; K turned, [B N H T]; V [B N T H]; with one axis less where batch and heads are one.
struct Operands {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
};

// From x [B S D] and memory [B T D'], by one projection or three.
Operands AddOperands(GraphMaker& maker, Value* x, Value* memory, const AttentionShape& shape);

// Q·K, scaled, capped, biased and masked, in some spelling. [B N S T]
Value* AddScores(GraphMaker& maker, const Operands& operands, const AttentionShape& shape);

// Softmax of the scores with what exporters put around it.
Value* AddProbabilities(GraphMaker& maker, Value* scores);

// Back to [B S N·H], often with a projection and the residual.
Value* AddMergedHeads(GraphMaker& maker, Value* y, Value* x, const AttentionShape& shape);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_ATTENTION_PARTS_H_
