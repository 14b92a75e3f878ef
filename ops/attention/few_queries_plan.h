// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_FEW_QUERIES_PLAN_H_
#define ATTNRUN_OPS_ATTENTION_FEW_QUERIES_PLAN_H_

#include <cstdint>

#include "ops/attention/attention_block.h"
#include "ops/attention/streaming_attention.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {

// A tile of keys that some row needs: how many of them, from key `first` on, and whether bias or
// mask change a score.
struct NeededTile {
  int64_t first = 0;
  int64_t keys = 0;
  bool applies_mask = false;
};

// Offsets of the parts of the scratch of one head of k and v, in floats.
struct FewQueriesScratch {
  FewQueriesScratch(const AttentionProblem& problem, int64_t rows);

  // [rows, head_size].
  int64_t queries = 0;
  // By tile: the scores, then the weights, of its rows, kKeyTile each.
  int64_t scores = 0;
  // By tile: a vector for each row, the factor by which its sums shrink before the tile is added.
  int64_t factors = 0;
  // By row: the running peak; a vector of sums of weights; 1 / the sum of all weights.
  int64_t peaks = 0;
  int64_t totals = 0;
  int64_t reciprocals = 0;
  int64_t total = 0;
};

// All rows that read one head of k and v of one sample.
struct FewQueriesHead {
  const AttentionProblem& problem;
  QueryBlock block;
  const NeededTile* tiles;
  int64_t num_tiles;
  FewQueriesScratch layout;
  float* scratch;

  float* Scores(int64_t tile) const {
    return scratch + layout.scores + tile * block.rows * kKeyTile;
  }
  float* Factors(int64_t tile) const {
    return scratch + layout.factors + tile * block.rows * kWidestVector;
  }
};

// Channels of the parts into which threads cut a head's values: cache lines are read as pairs.
inline constexpr int64_t kChannelsOfPart = 32;
// More rows pay for packing the keys.
inline constexpr int64_t kMostFewQueriesRows = 12;
// The last keys of a cache are copied to the stack, and sums lie there.
inline constexpr int64_t kLargestFewQueriesHead = 256;

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_FEW_QUERIES_PLAN_H_
