// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_H_
#define ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/attention/streaming_attention.h"
#include "ops/tensors/index_range.h"

// How streaming attention is cut into work: what does not depend on the instruction set.
namespace attnrun::ops {

// Keys of one tile. Tiles begin at multiples of it, so that what is added to what does not depend
// on where the open keys begin.
inline constexpr int64_t kKeyTile = 64;
// How many of them hold so many keys.
inline int64_t TilesOf(int64_t keys) { return (keys + kKeyTile - 1) / kKeyTile; }
// Floats of the widest vector: rows of scratch are whole vectors.
inline constexpr int64_t kWidestVector = 16;
// Floats that hold a row of the bias and one of the mask for one tile.
inline constexpr int64_t kMaskScratch = kKeyTile + kKeyTile / 4;

// dividend / divisor and what is left of it. Not inlined, since compilers divide first and ask then
// whether it was needed, which takes as long as some vectors of scores.
struct Quotient {
  int64_t whole;
  int64_t rest;
};
Quotient Divide(int64_t dividend, int64_t divisor);

// One unit of work: rows [first_row, first_row + rows) of all queries that share a head of k and v.
// Row r is query r / group of head kv_head * group + r % group.
struct QueryBlock {
  int64_t sample = 0;
  int64_t kv_head = 0;
  int64_t group = 1;
  int64_t first_row = 0;
  int64_t rows = 0;

  // Whether all rows read the same of what has these strides by query and by head.
  bool RowsShare(int64_t query_stride, int64_t head_stride) const {
    return query_stride == 0 && (head_stride == 0 || group == 1);
  }
  // `row` counts from first_row.
  int64_t Query(int64_t row) const {
    return group == 1 ? first_row + row : Divide(first_row + row, group).whole;
  }
  int64_t Head(int64_t row) const {
    return group == 1 ? kv_head : kv_head * group + Divide(first_row + row, group).rest;
  }
};

// Keys of sample b that are there at all.
int64_t ValidKeys(const AttentionProblem& problem, int64_t b);

// The valid keys that position leaves open to query s of sample b. Neither end decreases with s.
IndexRange UnmaskedKeys(const AttentionProblem& problem, int64_t b, int64_t s);

// The rows of a block to which position leaves a key of [first, first + kKeyTile) open.
IndexRange UnmaskedRows(const AttentionProblem& problem, const QueryBlock& block, int64_t first);

// What bias and mask say of each row and tile, worked out once for all heads that share them: for
// sample b, head n, query s and keys [t, t + kKeyTile), data[b * batch + n * head + s * query + t /
// kKeyTile]. No data: neither is there.
struct MaskSummary {
  const float* data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
};

// Whether a row gives problem.masked_row: with a peak of -inf all weights are 0, and so is their
// sum, unless a score is NaN.
inline bool IsMaskedRow(const AttentionProblem& problem, float peak, float total) {
  return (peak == -std::numeric_limits<float>::infinity() && total == 0) ||
         (problem.nan_row_is_zero && std::isnan(total));
}

// The score of the sink of a row; -inf where there is none.
float SinkOf(const AttentionProblem& problem, const QueryBlock& block, int64_t row);

// The sum of a row's weights, exp(score - peak), so far: of its sink, which is its peak.
inline float WeightOfSink(float sink) {
  return sink == -std::numeric_limits<float>::infinity() ? 0.0F : std::exp(sink - sink);
}

// Lets rows of a block begin with their sinks: `peaks`, one each, and `totals`, kWidestVector each,
// which are 0.
void InitializeFromSinks(const AttentionProblem& problem, const QueryBlock& block, IndexRange rows,
                         float* peaks, float* totals);

// What is computed of a tile, and what is put off.
struct TileSchedule {
  // Computed now.
  IndexRange rows;
  // Bias or mask change some score of these.
  bool applies_mask = false;
  // Something is put off: all other rows that position leaves.
  bool deferred = false;
  // No number of the bias there is greater.
  float max_deferred_bias = -std::numeric_limits<float>::infinity();
};

// Where the parts of a block's scratch begin, in floats.
struct BlockScratch {
  BlockScratch(const AttentionProblem& problem, int64_t rows);

  // Floats of a row of sums or values.
  int64_t value_stride = 0;
  // The rows of q, if they are not used in place.
  int64_t queries = 0;
  // Sums of values, each weighted by exp(score - peak).
  int64_t sums = 0;
  // Scores of one tile, then their weights.
  int64_t scores = 0;
  // Scale times the keys of one tile, transposed.
  int64_t keys = 0;
  // Values of one tile, side by side.
  int64_t values = 0;
  // One row of bias and mask.
  int64_t mask = 0;
  // The greatest score of each row so far.
  int64_t peaks = 0;
  // Sums of the weights of each row, a vector each.
  int64_t totals = 0;
  // A TileSchedule per tile.
  int64_t schedules = 0;
  // The sum of the magnitudes of each row of queries.
  int64_t magnitudes = 0;
  int64_t total = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_H_
