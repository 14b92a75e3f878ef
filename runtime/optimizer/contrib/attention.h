#ifndef ATTNRUN_OPTIMIZER_CONTRIB_ATTENTION_H_
#define ATTNRUN_OPTIMIZER_CONTRIB_ATTENTION_H_

#include <optional>
#include <string>

#include "optimizer/contrib/expansion.h"

// What the expansions of attention have in common.
namespace attnrun {

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

// The operator's output [B, S, N * Hv].
Value* Attend(Expansion& e, const AttentionParts& parts);

// What the mask (see NaiveMask) that is input i adds to the scores, null if there is none:
// mask_filter_value where it closes a key. `keys`: T, of rank 0. Sets `why` if the mask is none of
// the known forms.
Value* MaskBias(Expansion& e, int i, Value* keys, std::string& why);

// The sum of two biases, of which each may be null.
Value* SumOfBiases(Expansion& e, Value* a, Value* b);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CONTRIB_ATTENTION_H_
