// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_STREAMING_ATTENTION_H_
#define ATTNRUN_OPS_ATTENTION_STREAMING_ATTENTION_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// Where element (b, s, n, h), sample, position, head and channel, of a tensor of heads lies, in
// elements from the first.
struct HeadStrides {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t head = 0;
  int64_t channel = 1;
};

// One element for sample b, head n, query s and key t: data[b * batch + n * head + s * query + t *
// key], where strides of 0 broadcast; or none, if data is null.
template <typename T>
struct ScoreOperand {
  const T* data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
  int64_t key = 0;
};

// y = softmax(cap(scale * q k^T) + bias) v for every head, on float: q [batch, queries,
// query_heads, head_size], k [batch, keys, kv_heads, head_size], v [batch, keys, kv_heads,
// value_size], y [batch, queries, query_heads, value_size], each with strides of its own. Head n of
// q attends to head n / (query_heads / kv_heads) of k and v, of which there must be a whole number.
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
  float* y = nullptr;
  HeadStrides q_strides;
  HeadStrides k_strides;
  HeadStrides v_strides;
  HeadStrides y_strides;

  float scale = 1;
  // cap(x) = softcap * tanh(x / softcap); 0: cap(x) = x.
  float softcap = 0;
  ScoreOperand<float> bias;
  // False closes the key to the query.
  ScoreOperand<bool> mask;
  // One more score of each row, of a key whose value is 0; the same for all keys.
  ScoreOperand<float> sinks;

  // Query s stands at position p = query_offsets[b] + s among the keys (null: 0 for every sample).
  // Keys after p are closed to it if causal, those outside [p - left_window, p + right_window],
  // where a bound of -1 is none, too, and those from valid_keys[b] on (null: none).
  const int64_t* query_offsets = nullptr;
  const int64_t* valid_keys = nullptr;
  bool causal = false;
  int64_t left_window = -1;
  int64_t right_window = -1;

  // The score of a key that is closed, other than by valid_keys: Where(mask, scores, mask_value)
  // is what some exporters write. Finite: rows whose keys are all closed are averages.
  float mask_value = -std::numeric_limits<float>::infinity();
  // Whether bias is added to mask_value, too.
  bool bias_on_masked = false;
  // What a row gives whose scores are all -inf.
  float masked_row = 0;
  // Whether a row in which a score is NaN or infinite gives masked_row, not NaN.
  bool nan_row_is_zero = false;
};

// What the attention operators say alike: the sizes of `shape`, softcap, causal and windows of
// `op`.
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

// Computes y. No more than tiles of the scores are ever stored. Tiles of keys that can be shown to
// contribute exactly 0 are not computed, provided that k and v are finite. The bits of a row of y
// depend on nothing but its own row of q, bias, mask and offset and on the keys open to it, so
// neither on threads, nor on the other rows, nor on how far k and v are padded. kResourceExhausted
// if there is no memory for scratch.
absl::Status StreamingAttention(const AttentionProblem& problem, Allocator& allocator);

// Multiply-adds that count as useful work, times 2: those of keys that positions leave open.
int64_t AttentionFlops(const AttentionProblem& problem);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_STREAMING_ATTENTION_H_
