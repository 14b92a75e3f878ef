// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_LAYOUT_H_
#define ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_LAYOUT_H_

#include <cstdint>

#include "core/div_ceil.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/streaming_attention.h"
#include "ops/gemm/amx.h"

namespace attnrun::ops {

// The scratch space of WholeRows: offsets of its parts, in bytes.
struct WholeRowsLayout {
  explicit WholeRowsLayout(const AttentionProblem& problem)
      : padded_keys(DivCeil(problem.keys, kAmxPanelWidth) * kAmxPanelWidth),
        head_steps(DivCeil(problem.head_size, kAmxBf16Step)),
        value_stride(DivCeil(problem.value_size, kAmxPanelWidth) * kAmxPanelWidth),
        score_stride(padded_keys + kAmxRows) {
    const int64_t pair = 2 * kAmxRows;
    keys = Take(padded_keys / kAmxPanelWidth * KeyPanel());
    values = Take(value_stride / kAmxPanelWidth * ValuePanel());
    queries = Take(2 * QueryBlock());
    weights = Take(2 * WeightBlock());
    scores = Take(pair * score_stride * kFloat);
    sums = Take(pair * value_stride * kFloat);
    totals = Take(pair * kWidestVector * kFloat);
    peaks = Take(pair * kFloat);
    mask = Take(kMaskScratch * kFloat);
    applies_mask = Take(TilesOf(problem.keys) * static_cast<int64_t>(sizeof(bool)));
  }

  int64_t Steps() const { return padded_keys / kAmxBf16Step; }
  // Bytes of 32 keys, of 32 channels of all values, of 16 queries and of the weights of 16 queries.
  int64_t KeyPanel() const { return head_steps * kAmxPanelBytes; }
  int64_t ValuePanel() const { return Steps() * kAmxPanelBytes; }
  int64_t QueryBlock() const { return head_steps * kAmxTileBytes; }
  int64_t WeightBlock() const { return Steps() * kAmxTileBytes; }

  // The number of keys, in whole panels.
  int64_t padded_keys;
  int64_t head_steps;
  // Floats between rows of sums, and of scores: not a multiple of a power of two, for which rows
  // would evict each other.
  int64_t value_stride;
  int64_t score_stride;

  int64_t keys = 0;
  int64_t values = 0;
  int64_t queries = 0;
  int64_t weights = 0;
  int64_t scores = 0;
  int64_t sums = 0;
  int64_t totals = 0;
  int64_t peaks = 0;
  int64_t mask = 0;
  // A bool for each tile of keys: true if bias or mask change its scores.
  int64_t applies_mask = 0;
  int64_t total = 0;

 private:
  static constexpr int64_t kFloat = sizeof(float);

  int64_t Take(int64_t bytes) {
    const int64_t begin = total;
    total += DivCeil(bytes, kAmxStepBytes) * kAmxStepBytes;
    return begin;
  }
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_LAYOUT_H_
