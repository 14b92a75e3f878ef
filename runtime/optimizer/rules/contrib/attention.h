// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONTRIB_ATTENTION_H_
#define ATTNRUN_OPTIMIZER_RULES_CONTRIB_ATTENTION_H_

#include <optional>
#include <string>

#include "optimizer/rules/contrib/expansion.h"

// Functions and types that the expansions of the attention operators share.
namespace attnrun::opt {

// The operands and attributes of the attnrun.Attention that an expansion writes.
struct AttentionParts {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
  // The numbers and sizes of heads. q, k and v are [B, S, N * H]; k and v are [B, N, T, H] once
  // they are split into heads (`keys_by_head`), as a past requires.
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;
  bool keys_by_head = false;
  // The element type of the scores; kUndefined means that of the node's first input.
  DataType type = DataType::kUndefined;
  std::optional<float> scale = {};
  float softcap = 0;
  // The attribute `causal` of attnrun.Attention.
  int64_t causal = 0;
  Value* bias = nullptr;
  Value* mask = nullptr;
  Value* sinks = nullptr;
};

// Splits rows [B, S, n * H] into heads [B, n, S, H].
Value* SplitHeads(Expansion& e, Value* merged, int64_t heads, int64_t size);

// Splits keys and values into heads if they are not split yet.
void PutByHead(Expansion& e, AttentionParts& parts);

// Sets the scale that the node has, and adds its mask (see AttentionMask), input `mask`, and its
// bias, input `bias`, to the scores, where the node has them. Declines and returns false if the
// mask has none of the known forms.
bool AddScoreTerms(Expansion& e, int mask, int bias, AttentionParts& parts);

// Writes the attention; returns the operator's output [B, S, N * Hv].
Value* Attend(Expansion& e, const AttentionParts& parts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONTRIB_ATTENTION_H_
