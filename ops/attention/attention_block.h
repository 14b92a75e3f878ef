// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_H_
#define ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/attention/streaming_attention.h"
#include "ops/tensors/index_range.h"

// How streaming attention is cut into blocks of queries and tiles of keys. Nothing here depends on
// the instruction set; attention_block-inl.h has the overview.
namespace attnrun::ops {

// Keys per tile. Tiles start at multiples of kKeyTile so that summation order does not depend on
// the first unmasked key.
inline constexpr int64_t kKeyTile = 64;
// The number of tiles that hold `keys` keys.
inline int64_t TilesOf(int64_t keys) { return (keys + kKeyTile - 1) / kKeyTile; }
// Floats of the widest vector: rows of scratch are padded to whole vectors, or to whole panels of
// AMX for products in bf16.
inline constexpr int64_t kWidestVector = 16;
// Floats that hold one tile's row of the bias and one of the mask.
inline constexpr int64_t kMaskScratch = kKeyTile + kKeyTile / 4;

// A quotient and its remainder. Divide is not inlined: compilers would divide first and check later
// whether the result is needed, which takes as long as some vectors of scores.
struct Quotient {
  int64_t whole;
  int64_t rest;
};
Quotient Divide(int64_t dividend, int64_t divisor);

// The rows that one thread computes at once: rows [first_row, first_row + rows) among all queries
// that share a head of k and v. Row r is query r / group of head kv_head * group + r % group.
struct QueryBlock {
  int64_t sample = 0;
  int64_t kv_head = 0;
  int64_t group = 1;
  int64_t first_row = 0;
  int64_t rows = 0;

  // True if all rows read the same elements of an operand with these strides by query and by head.
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

// The blocks of `rows` rows, or fewer at the end of a head, of all heads of all samples.
class QueryBlocks {
 public:
  QueryBlocks(const AttentionProblem& problem, int64_t rows);

  int64_t total() const { return total_; }
  // No rows if there is no such block.
  QueryBlock At(int64_t index) const;

 private:
  const int64_t kv_heads_;
  const int64_t group_;
  // The rows of a head, and of a block.
  const int64_t head_rows_;
  const int64_t block_rows_;
  const int64_t blocks_per_head_;
  const int64_t total_;
};

// The number of keys of sample b: valid_keys, clamped, or all.
int64_t ValidKeys(const AttentionProblem& problem, int64_t b);

// The valid keys that position (causal mask and windows) leaves unmasked for query s of sample b.
// Neither end decreases with s.
IndexRange UnmaskedKeys(const AttentionProblem& problem, int64_t b, int64_t s);

// The rows of a block for which position leaves a key of [first, first + kKeyTile) unmasked.
IndexRange UnmaskedRows(const AttentionProblem& problem, const QueryBlock& block, int64_t first);

// A summary of bias and mask, computed once for all heads and rows that share them: a number for
// sample b, head n, query s and the tile that holds key t, data[b * batch + n * head + s * query +
// t / kKeyTile]. BlockMask::Summarize says what the numbers mean. Null data: neither is given.
struct MaskSummary {
  const float* data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
};

// True if a row gives problem.masked_row. With a peak of -inf all weights are 0, and so is their
// sum, unless a score is NaN.
inline bool IsMaskedRow(const AttentionProblem& problem, float peak, float total) {
  return (peak == -std::numeric_limits<float>::infinity() && total == 0) ||
         (problem.nan_row_is_zero && std::isnan(total));
}

// The score of the sink of a row; -inf where there is none.
float SinkOf(const AttentionProblem& problem, const QueryBlock& block, int64_t row);

// The weight exp(score - peak) of a sink that is the row's peak: 1, NaN for +inf, 0 for -inf.
inline float WeightOfSink(float sink) {
  return sink == -std::numeric_limits<float>::infinity() ? 0.0F : std::exp(sink - sink);
}

// Initializes the softmax of some rows with their sinks: `peaks`, one per row, and `totals`,
// kWidestVector per row, which must be 0.
void InitializeFromSinks(const AttentionProblem& problem, const QueryBlock& block, IndexRange rows,
                         float* peaks, float* totals);

// The part of a tile that the first pass computes, and whether other rows are deferred to the end
// of that pass.
struct TileSchedule {
  // Rows that the first pass computes.
  IndexRange rows;
  // True if bias or mask change a score of these rows.
  bool applies_mask = false;
  // True if the tile is deferred for the other rows that position leaves.
  bool deferred = false;
  // An upper bound on the bias of the deferred scores.
  float max_deferred_bias = -std::numeric_limits<float>::infinity();
};

// Offsets of the parts of a block's scratch, in floats.
struct BlockScratch {
  BlockScratch(const AttentionProblem& problem, int64_t rows);

  // Floats between rows of sums or values.
  int64_t value_stride = 0;
  // A copy of the rows of q, if they cannot be used in place.
  int64_t queries = 0;
  // Sums of values, each weighted by exp(score - peak).
  int64_t sums = 0;
  // Scores of one tile, which then become weights.
  int64_t scores = 0;
  // Scale times the keys of one tile, transposed.
  int64_t keys = 0;
  // Values of one tile, row after row.
  int64_t values = 0;
  // One row of bias and mask.
  int64_t mask = 0;
  // The running peak of each row.
  int64_t peaks = 0;
  // Sums of the weights of each row, a vector each.
  int64_t totals = 0;
  // One TileSchedule per tile.
  int64_t schedules = 0;
  // The sum of the magnitudes of each row of queries.
  int64_t magnitudes = 0;
  // For Bf16Products.
  int64_t bf16 = 0;
  int64_t total = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_H_
