// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_STREAMING_ATTENTION_H_
#define ATTNRUN_OPS_ATTENTION_STREAMING_ATTENTION_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "attnrun/tensor.h"
#include "ops/attention/narrow_form.h"

namespace attnrun::ops {

// The strides of a tensor of heads, in elements: sample b, position s, head n and channel h.
struct HeadStrides {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t head = 0;
  int64_t channel = 1;
};

// A term of the scores, or none if data is null: for sample b, head n, query s and key t it is
// data[b * batch + n * head + s * query + t * key]; strides of 0 broadcast.
template <typename T>
struct ScoreOperand {
  const T* data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
  int64_t key = 0;
};

// Keys and values in fewer bits than floats, as a cache may hold them. They are read as floats,
// which is exact.
struct NarrowCache {
  const void* k = nullptr;
  const void* v = nullptr;
  // kFloats if there is no such cache.
  NarrowForm form = NarrowForm::kFloats;

  bool exists() const { return form != NarrowForm::kFloats; }
  // The address of element `index` of k or of v.
  const void* At(const void* data, int64_t index) const {
    if (data == nullptr) return nullptr;
    return static_cast<const char*>(data) + index * ElementBytes(form);
  }
};

// y = softmax(cap(scale * q k^T) + bias) v for every head, on float: q [batch, queries,
// query_heads, head_size], k [batch, keys, kv_heads, head_size], v [batch, keys, kv_heads,
// value_size], y [batch, queries, query_heads, value_size], each with its own strides. Head n of q
// attends to head n / (query_heads / kv_heads) of k and v; query_heads must be a multiple of
// kv_heads.
struct AttentionProblem {
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;

  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  // In place of k and v, with their strides, of which those of channels must be 1.
  NarrowCache narrow;
  float* y = nullptr;
  // q, k and v rounded to bf16, each in place of `q`, `k` or `v`, with its strides, if it is not
  // null; needs AttendsWholeRows.
  const uint16_t* bf16_q = nullptr;
  const uint16_t* bf16_k = nullptr;
  const uint16_t* bf16_v = nullptr;
  // y rounded to bf16, in place of `y`, if it is not null.
  uint16_t* bf16_y = nullptr;
  HeadStrides q_strides;
  HeadStrides k_strides;
  HeadStrides v_strides;
  HeadStrides y_strides;

  float scale = 1;
  // Both products in bf16 on AMX, see Bf16Products; needs ThisCpu().amx_bf16.
  bool bf16 = false;
  // cap(x) = softcap * tanh(x / softcap); 0: cap(x) = x.
  float softcap = 0;
  ScoreOperand<float> bias;
  // False masks the key for the query.
  ScoreOperand<bool> mask;
  // Attention sinks: one more score per row, of a key whose value is 0; equal along the keys.
  ScoreOperand<float> sinks;

  // Query s is at position p = query_offsets[b] + s among the keys (null: offset 0 for every
  // sample). Keys after p are masked if causal; so are keys outside [p - left_window, p +
  // right_window], where -1 is unbounded, and keys from valid_keys[b] on (null: none).
  const int64_t* query_offsets = nullptr;
  const int64_t* valid_keys = nullptr;
  bool causal = false;
  int64_t left_window = -1;
  int64_t right_window = -1;

  // The score of a masked key, unless valid_keys excludes it, as exporters write it: Where(mask,
  // scores, mask_value). If finite, a row whose keys are all masked is an average.
  float mask_value = -std::numeric_limits<float>::infinity();
  // True if bias is added to mask_value, too.
  bool bias_on_masked = false;
  // The value of a row whose scores are all -inf.
  float masked_row = 0;
  // True if a row with a score that is NaN or infinite gives masked_row instead of NaN.
  bool nan_row_is_zero = false;
};

// The rows of q that share a head of k and v.
inline int64_t RowsOf(const AttentionProblem& problem) {
  return problem.queries * (problem.query_heads / problem.kv_heads);
}

// The part of the problem that all attention operators describe alike: the sizes of `shape`,
// softcap, causal and windows of `op`.
template <typename Op, typename AttentionSizes>
AttentionProblem ProblemOf(const Op& op, const AttentionSizes& shape) {
  AttentionProblem problem;
  problem.batch = shape.batch;
  problem.query_heads = shape.query_heads;
  problem.kv_heads = shape.kv_heads;
  problem.queries = shape.queries;
  problem.keys = shape.keys;
  problem.head_size = shape.head_size;
  problem.value_size = shape.value_size;
  problem.softcap = op.softcap();
  problem.causal = op.causal();
  problem.left_window = op.left_window();
  problem.right_window = op.right_window();
  return problem;
}

// Computes y, storing no more than tiles of the scores. Tiles of keys that provably contribute 0
// are not computed, provided that k and v are finite. The bits of a row of y depend on its own row
// of q, bias, mask and offset and on the keys unmasked for it; they depend neither on threads, nor
// on the other rows, nor on the padding of k and v. kResourceExhausted if there is no memory for
// scratch.
absl::Status StreamingAttention(const AttentionProblem& problem, Allocator& allocator);

// Twice the multiply-adds that are useful work: those of keys that positions leave unmasked.
int64_t AttentionFlops(const AttentionProblem& problem);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_STREAMING_ATTENTION_H_
