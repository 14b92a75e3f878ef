// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_probabilities.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/attention_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Turns the scores q k^T of the one row of `block` into probabilities. `scratch`: one row padded to
// whole tiles, and kMaskScratch floats.
void NormalizeScores(const AttentionProblem& p, const QueryBlock& block, float* scratch,
                     float* row) {
  const FloatTag d;
  const auto size = static_cast<size_t>(TilesOf(p.keys) * kKeyTile);
  const BlockMask mask(p, block, scratch + size);
  std::fill(std::copy_n(row, p.keys, scratch), scratch + size, 0.0F);
  FloatVec peaks = hn::Set(d, kMinusInfinity);
  for (int64_t first = 0; first < p.keys; first += kKeyTile) {
    const int64_t count = std::min(kKeyTile, p.keys - first);
    ModifyScores(ModifiersOf(p, block, mask, 0, first, count, {true, true}), kKeyTile,
                 scratch + first);
    for (size_t i = 0; i < kKeyTile; i += kLanes) {
      peaks = hn::Max(peaks, hn::LoadU(d, scratch + first + i));
    }
  }
  const float sink = SinkOf(p, block, 0);
  // The total is NaN if either is.
  const float greatest = hn::ReduceMax(d, peaks);
  const float peak = greatest < sink ? sink : greatest;
  const FloatVec shift = hn::Set(d, peak == kMinusInfinity ? 0.0F : peak);
  FloatVec totals = hn::Zero(d);
  for (size_t i = 0; i < size; i += kLanes) {
    const FloatVec weight = ExpBelow88(d, hn::Sub(hn::LoadU(d, scratch + i), shift));
    totals = hn::Add(totals, weight);
    hn::StoreU(weight, d, scratch + i);
  }
  const float total = hn::ReduceSum(d, totals) + std::exp(sink - hn::GetLane(shift));
  if (IsMaskedRow(p, peak, total)) {
    std::fill_n(row, p.keys, p.masked_row);
    return;
  }
  const float factor = 1.0F / total;
  for (int64_t t = 0; t < p.keys; ++t) row[t] = scratch[t] * factor;
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/status.h"
#include "ops/attention/attention_probabilities.h"
#include "ops/gemm/gemm.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(NormalizeScores);

// The sample and heads of index `i`, which counts heads of q over all samples.
struct HeadOf {
  HeadOf(const AttentionProblem& p, int64_t i)
      : sample(i / p.query_heads),
        head(i % p.query_heads),
        kv_head(head / (p.query_heads / p.kv_heads)) {}
  int64_t sample;
  int64_t head;
  int64_t kv_head;
};

void MultiplyByKeys(const AttentionProblem& p, float* scores) {
  BatchedGemm(p.batch * p.query_heads, [&](int64_t i) {
    const HeadOf at(p, i);
    GemmProblem product;
    product.a = {p.q + at.sample * p.q_strides.batch + at.head * p.q_strides.head, p.queries,
                 p.head_size, p.q_strides.sequence, p.q_strides.channel};
    product.b = {p.k + at.sample * p.k_strides.batch + at.kv_head * p.k_strides.head, p.head_size,
                 p.keys, p.k_strides.channel, p.k_strides.sequence};
    product.c = scores + i * p.queries * p.keys;
    product.ldc = p.keys;
    product.epilogue.scale = p.scale;
    return product;
  });
}

void MultiplyByValues(const AttentionProblem& p, const float* probabilities) {
  BatchedGemm(p.batch * p.query_heads, [&](int64_t i) {
    const HeadOf at(p, i);
    GemmProblem product;
    product.a = {probabilities + i * p.queries * p.keys, p.queries, p.keys, p.keys};
    product.b = {p.v + at.sample * p.v_strides.batch + at.kv_head * p.v_strides.head, p.keys,
                 p.value_size, p.v_strides.sequence, p.v_strides.channel};
    product.c = p.y + at.sample * p.y_strides.batch + at.head * p.y_strides.head;
    product.ldc = p.y_strides.sequence;
    return product;
  });
}

absl::Status NormalizeRows(const AttentionProblem& p, float* scores, Allocator& allocator) {
  // The number of scores that are worth a thread of their own.
  constexpr int64_t kGrain = 1 << 13;
  const int64_t rows = p.batch * p.query_heads * p.queries;
  auto normalize = [&](int64_t begin, int64_t end, float* scratch) {
    QueryBlock block;
    block.group = p.query_heads / p.kv_heads;
    block.rows = 1;
    for (int64_t row = begin; row < end; ++row) {
      const HeadOf at(p, row / p.queries);
      block.sample = at.sample;
      block.kv_head = at.kv_head;
      block.first_row = row % p.queries * block.group + at.head % block.group;
      HWY_DYNAMIC_DISPATCH(NormalizeScores)(p, block, scratch, scores + row * p.keys);
    }
  };
  return ParallelForWithScratch(rows, kGrain / p.keys + 1,
                                TilesOf(p.keys) * kKeyTile + kMaskScratch, allocator, normalize);
}

}  // namespace

absl::Status AttentionWithProbabilities(const AttentionProblem& p, float* probabilities,
                                        Allocator& allocator) {
  const int64_t rows = p.batch * p.query_heads * p.queries;
  if (rows * p.keys > 0) {
    MultiplyByKeys(p, probabilities);
    ATTNRUN_RETURN_IF_ERROR(NormalizeRows(p, probabilities, allocator));
  }
  if (rows * p.value_size > 0) MultiplyByValues(p, probabilities);
  return absl::OkStatus();
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
