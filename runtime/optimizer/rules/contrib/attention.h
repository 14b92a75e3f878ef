// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONTRIB_ATTENTION_H_
#define ATTNRUN_OPTIMIZER_RULES_CONTRIB_ATTENTION_H_

#include <optional>
#include <string>

#include "optimizer/rules/contrib/expansion.h"

// What the expansions of attention have in common.
namespace attnrun::opt {

// One attnrun.Attention in the making.
struct AttentionParts {
  Value* q = nullptr;
  Value* k = nullptr;
  Value* v = nullptr;
  // Of [B, S, N * H]; k and v of [B, N, T, H] once they have a past.
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;
  bool keys_by_head = false;
  // Of the scores; kUndefined: that of the node's first input.
  DataType type = DataType::kUndefined;
  std::optional<float> scale = {};
  float softcap = 0;
  // attnrun.Attention's `causal`.
  int64_t causal = 0;
  Value* bias = nullptr;
  Value* mask = nullptr;
  Value* sinks = nullptr;
};

// Heads [B, S, n * H] as [B, n, S, H].
Value* SplitHeads(Expansion& e, Value* merged, int64_t heads, int64_t size);

// Keys and values by head, if they are not yet.
void PutByHead(Expansion& e, AttentionParts& parts);

// Sets the scale that the node has, and as bias what its mask (see AttentionMask), input `mask`, and
// its bias, input `bias`, add to the scores, if it has them. Declines, and returns false, if the
// mask is none of the known forms.
bool AddScoreTerms(Expansion& e, int mask, int bias, AttentionParts& parts);

// The operator's output [B, S, N * Hv].
Value* Attend(Expansion& e, const AttentionParts& parts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONTRIB_ATTENTION_H_
