// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_block.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "ops/attention/attention_bf16.h"

namespace attnrun::ops {
namespace {

// The first index of [0, count) for which `holds` is true, else count. It must be true for all
// indices after the first one.
template <typename Holds>
int64_t FirstThat(int64_t count, Holds holds) {
  int64_t begin = 0;
  while (begin < count) {
    const int64_t middle = begin + (count - begin) / 2;
    if (holds(middle)) {
      count = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

}  // namespace

Quotient Divide(int64_t dividend, int64_t divisor) {
  return {dividend / divisor, dividend % divisor};
}

QueryBlocks::QueryBlocks(const AttentionProblem& problem, int64_t rows)
    : kv_heads_(problem.kv_heads),
      group_(problem.query_heads / problem.kv_heads),
      head_rows_(RowsOf(problem)),
      block_rows_(rows),
      blocks_per_head_(DivCeil(head_rows_, rows)),
      total_(problem.batch * kv_heads_ * blocks_per_head_) {}

QueryBlock QueryBlocks::At(int64_t index) const {
  QueryBlock block;
  if (index >= total_) return block;
  block.group = group_;
  block.first_row = index % blocks_per_head_ * block_rows_;
  block.rows = std::min(block_rows_, head_rows_ - block.first_row);
  block.kv_head = index / blocks_per_head_ % kv_heads_;
  block.sample = index / blocks_per_head_ / kv_heads_;
  return block;
}

int64_t ValidKeys(const AttentionProblem& problem, int64_t b) {
  if (problem.valid_keys == nullptr) return problem.keys;
  return std::clamp<int64_t>(problem.valid_keys[b], 0, problem.keys);
}

IndexRange UnmaskedKeys(const AttentionProblem& problem, int64_t b, int64_t s) {
  const int64_t offset = problem.query_offsets == nullptr ? 0 : problem.query_offsets[b];
  const int64_t position = offset + s;
  IndexRange unmasked{0, ValidKeys(problem, b)};
  if (problem.causal) unmasked.end = std::min(unmasked.end, position + 1);
  // Compares differences, since position + right_window could overflow.
  if (problem.right_window >= 0 && problem.right_window < unmasked.end - position) {
    unmasked.end = position + problem.right_window + 1;
  }
  if (problem.left_window >= 0 && problem.left_window < position) {
    unmasked.begin = position - problem.left_window;
  }
  unmasked.end = std::max<int64_t>(unmasked.end, 0);
  unmasked.begin = std::min(unmasked.begin, unmasked.end);
  return unmasked;
}

IndexRange UnmaskedRows(const AttentionProblem& problem, const QueryBlock& block, int64_t first) {
  auto unmasked = [&](int64_t row) {
    return UnmaskedKeys(problem, block.sample, block.Query(row));
  };
  IndexRange rows;
  rows.begin = FirstThat(block.rows, [&](int64_t row) { return unmasked(row).end > first; });
  rows.end =
      FirstThat(block.rows, [&](int64_t row) { return unmasked(row).begin >= first + kKeyTile; });
  rows.begin = std::min(rows.begin, rows.end);
  return rows;
}

float SinkOf(const AttentionProblem& problem, const QueryBlock& block, int64_t row) {
  const ScoreOperand<float>& sinks = problem.sinks;
  if (sinks.data == nullptr) return -std::numeric_limits<float>::infinity();
  return sinks.data[block.sample * sinks.batch + block.Head(row) * sinks.head +
                    block.Query(row) * sinks.query];
}

void InitializeFromSinks(const AttentionProblem& problem, const QueryBlock& block, IndexRange rows,
                         float* peaks, float* totals) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    peaks[row] = SinkOf(problem, block, row);
    totals[row * kWidestVector] = WeightOfSink(peaks[row]);
  }
}

BlockScratch::BlockScratch(const AttentionProblem& problem, int64_t rows) {
  auto whole_vectors = [](int64_t floats) {
    return (floats + kWidestVector - 1) / kWidestVector * kWidestVector;
  };
  auto take = [&](int64_t floats) {
    const int64_t begin = total;
    total += whole_vectors(floats);
    return begin;
  };
  const int64_t padded_rows = problem.bf16 ? Bf16Products::PaddedRows(rows) : rows;
  value_stride = problem.bf16 ? DivCeil(problem.value_size, kAmxPanelWidth) * kAmxPanelWidth
                              : whole_vectors(problem.value_size);
  queries = take(rows * problem.head_size);
  sums = take(padded_rows * value_stride);
  scores = take(padded_rows * kKeyTile);
  keys = take(problem.head_size * kKeyTile);
  values = take(kKeyTile * value_stride);
  mask = take(kMaskScratch);
  peaks = take(rows);
  totals = take(rows * kWidestVector);
  const int64_t tiles = TilesOf(problem.keys);
  schedules = take(tiles * static_cast<int64_t>(sizeof(TileSchedule) / sizeof(float)));
  magnitudes = take(rows);
  if (problem.bf16) {
    bf16 = take(DivCeil(Bf16Products::ScratchBytes(problem, rows), sizeof(float)));
  }
}

}  // namespace attnrun::ops
