// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_ATTENTION_STATE_BLOCK_H_
#define ATTNRUN_OPS_LINEAR_ATTENTION_STATE_BLOCK_H_

#include <cstdint>

namespace attnrun::ops {

// The columns of a state that the kernel works on together, a multiple of any vector's lanes. The
// columns of a state do not depend on each other. A block of 128 rows stays in the L1 cache.
inline constexpr int64_t kStateColumns = 32;

// A row per token.
struct TokenRows {
  const float* data = nullptr;
  // From one token's row to the next.
  int64_t stride = 0;

  explicit operator bool() const { return data != nullptr; }
  const float* row(int64_t token) const { return data + token * stride; }
};

// A block of columns of one head's state, and the tokens that change and read it.
struct StateBlock {
  int64_t key_size;
  // The columns that are in use; the others are 0.
  int64_t columns;
  // [key_size, kStateColumns]
  float* state;
  // Room for two rows of key_size.
  float* rows;
  TokenRows query;
  TokenRows key;
  // From the block's first column on.
  TokenRows value;
  // Null: the state does not decay.
  TokenRows decay;
  bool decay_per_key;
  // Null: the values are added as they are.
  TokenRows beta;
  // The query's heads that read the state, one after the other in its rows and in those of the
  // output, there `output_step` apart.
  int64_t readers;
  float* output;
  int64_t output_stride;
  int64_t output_step;
  float scale;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_ATTENTION_STATE_BLOCK_H_
