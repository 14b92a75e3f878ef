// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_ATTENTION_H_

#include <cstdint>
#include <optional>

#include "ops/composite/body.h"
#include "ops/interface/attribute_reader.h"

// Shared by the descriptions of ONNX Runtime's attention operators.
namespace attnrun::ops::contrib {

// True if a node may have this many heads. Sums of a few such counts fit in 64 bits.
constexpr bool IsHeadCount(int64_t count) { return count >= 1 && count <= int64_t{1} << 31; }

// The attributes that com.microsoft Attention, QAttention and MultiHeadAttention share.
struct MaskedAttention {
  explicit MaskedAttention(AttributeReader& attributes)
      : heads(attributes.Required<int64_t>("num_heads")),
        causal(attributes.Int("unidirectional", 0) != 0),
        filter(attributes.Float("mask_filter_value", -10000)),
        scale(attributes.Get<float>("scale")) {}

  int64_t heads;
  bool causal;
  float filter;
  std::optional<float> scale;
};

// The operands and attributes of the attnrun.Attention that a description writes.
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
  // The element type of the scores.
  DataType type = DataType::kUndefined;
  std::optional<float> scale = {};
  float softcap = 0;
  // The attribute `causal` of attnrun.Attention.
  int64_t causal = 0;
  Value* bias = nullptr;
  Value* mask = nullptr;
  Value* sinks = nullptr;
  // The attribute of attnrun.Attention.
  bool scaled_rows = true;
};

// Splits keys and values into heads [B, n, S, H] if they are not split yet.
void PutByHead(Body& b, AttentionParts& parts);

// Adds the bias, and `filter` at masked keys, to the scores; either may be null. The mask, int32,
// is one of
//   [B, T] or [B, S, T]    numbers above 0 unmask keys
//   [B]                    the end of each sample's unmasked keys
//   [2 B]                  their ends, then their beginnings
void AddScoreTerms(Body& b, Value* bias, Value* mask, float filter, AttentionParts& parts);

// Writes the attention; its output is [B, S, N * Hv]. GiveAttention gives it.
Value* Attend(Body& b, const AttentionParts& parts);
void GiveAttention(Body& b, const AttentionParts& parts);

}  // namespace attnrun::ops::contrib

#endif  // ATTNRUN_OPS_CONTRIB_ATTENTION_H_
