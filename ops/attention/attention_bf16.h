// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_ATTENTION_BF16_H_
#define ATTNRUN_OPS_ATTENTION_ATTENTION_BF16_H_

#include <cstdint>

#include "attnrun/precision.h"
#include "ops/attention/streaming_attention.h"
#include "ops/gemm/amx.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {

// A matrix of floats whose rows are `stride` apart.
struct FloatRows {
  const float* data;
  int64_t stride;
};

// True if attention multiplies in bf16 in a session of this precision, on this processor: if bf16
// was asked for, or int8, which is coarser.
bool AttendsInBf16(Precision precision);

// The two products of one block of queries on AMX: queries, keys, weights and values are rounded to
// bf16, sums are float. Everything between the products is the same as for float products.
//
// Rows are multiplied in groups of 16, counted from the first row of the block. A row that is in
// such a group but not asked for gets scores that nobody reads, and adds weights of 0 to its sums,
// which leaves them as they were if the values are finite.
class Bf16Products {
 public:
  // Bytes of scratch space for a block of `rows` rows, aligned to cache lines.
  static int64_t ScratchBytes(const AttentionProblem& problem, int64_t rows);
  // Rows that `scores` and `sums` must have for a block of `rows` rows.
  static int64_t PaddedRows(int64_t rows);

  Bf16Products(const AttentionProblem& problem, int64_t rows, void* scratch);

  // Packs the queries of the block: [rows, head_size].
  void PackQueries(const FloatRows& queries);
  // Packs `count` keys of a tile: [count, head_size].
  void PackKeys(const FloatRows& keys, int64_t count);
  // Packs `count` values of a tile: [count, value_size].
  void PackValues(const FloatRows& values, int64_t count);

  // The first row of the group of `row`.
  static int64_t GroupOf(int64_t row) { return row / kAmxRows * kAmxRows; }

  // Row r of `rows` times the first `columns` keys goes to scores + (r - GroupOf(rows.begin)) *
  // kKeyTile.
  void Scores(IndexRange rows, int64_t columns, float* scores) const;
  // Adds the weights of the first `columns` keys, where Scores put them, times the values to the
  // sums: row r of the block has its sums at sums + r * stride.
  void AddValues(IndexRange rows, int64_t columns, const float* weights, float* sums,
                 int64_t stride) const;

 private:
  const int64_t rows_;
  const int64_t head_size_;
  const int64_t value_size_;
  // Steps of K of the first product.
  const int64_t steps_;
  // [groups, steps_, 16, 64 bytes].
  uint8_t* queries_;
  // [2, steps_, kAmxPanelBytes].
  uint8_t* keys_;
  // [panels, 2, kAmxPanelBytes].
  uint8_t* values_;
  // Weights of two groups: [2, 2, 16, 64 bytes].
  uint8_t* weights_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_ATTENTION_BF16_H_
