// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/streaming_attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/attention/attention_block-inl.h"
#include "ops/attention/streaming_attention.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

void AttendBlock(const AttentionProblem& problem, const MaskSummary& summary,
                 const QueryBlock& block, float* scratch, absl::FunctionRef<QueryBlock()> next) {
  TiledAttention(problem, summary, block, scratch, next).Run();
}

// Writes the values of a MaskSummary for one query and its first `keys` keys.
void SummarizeQueryMask(const AttentionProblem& problem, const QueryBlock& query, int64_t keys,
                        float* summary) {
  float buffer[kMaskScratch];
  const BlockMask mask(problem, query, buffer);
  for (int64_t first = 0; first < keys; first += kKeyTile) {
    *summary++ = mask.Summarize(0, first, std::min(kKeyTile, keys - first));
  }
}

void WidenHead(const void* from, int64_t stride, int64_t rows, int64_t size, NarrowForm form,
               float* to) {
  WidenRows({from, stride, size, form}, rows, {0, size}, to);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <optional>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/few_queries.h"
#include "ops/attention/whole_rows.h"
#include "ops/gemm/amx.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(AttendBlock);
HWY_EXPORT(SummarizeQueryMask);
HWY_EXPORT(WidenHead);

// Rows per block: enough that packing its keys costs little beside computing with them; few enough
// that its sums stay in the second-level cache and every thread has work.
int64_t RowsPerBlock(const AttentionProblem& problem) {
  constexpr int64_t kMost = 256;
  constexpr int64_t kLeast = 32;
  const int64_t rows = problem.queries * (problem.query_heads / problem.kv_heads);
  const int64_t heads = problem.batch * problem.kv_heads;
  // Four blocks per thread balance the load, since blocks differ in cost.
  const int64_t blocks_per_head = std::max<int64_t>(1, 4 * NumThreads() / heads);
  return std::min(rows, std::clamp(rows / blocks_per_head, kLeast, kMost));
}

// The stride of a MaskSummary along a dimension, of which one step takes `inner`; 0 if neither bias
// nor mask varies along it.
int64_t SummaryStride(int64_t bias_stride, int64_t mask_stride, int64_t inner) {
  return bias_stride == 0 && mask_stride == 0 ? 0 : inner;
}

// The greatest number of valid keys over all samples.
int64_t MostValidKeys(const AttentionProblem& problem) {
  int64_t most = 0;
  for (int64_t b = 0; b < problem.batch; ++b) most = std::max(most, ValidKeys(problem, b));
  return most;
}

// Summarizes bias and mask; `table` holds the data.
absl::StatusOr<MaskSummary> SummarizeMask(const AttentionProblem& p, Allocator& allocator,
                                          Tensor& table) {
  MaskSummary summary;
  if (p.bias.data == nullptr && p.mask.data == nullptr) return summary;
  const int64_t tiles = TilesOf(p.keys);
  summary.query = SummaryStride(p.bias.query, p.mask.query, tiles);
  const int64_t queries = summary.query == 0 ? 1 : p.queries;
  summary.head = SummaryStride(p.bias.head, p.mask.head, queries * tiles);
  const int64_t heads = summary.head == 0 ? 1 : p.query_heads;
  summary.batch = SummaryStride(p.bias.batch, p.mask.batch, heads * queries * tiles);
  const int64_t batch = summary.batch == 0 ? 1 : p.batch;
  ATTNRUN_ASSIGN_OR_RETURN(
      table, Tensor::Allocate(DataType::kFloat, {batch * heads * queries, tiles}, allocator));
  auto* data = table.mutable_data<float>();
  const int64_t most = MostValidKeys(p);
  constexpr int64_t kElementsPerPiece = 16384;
  ParallelFor(batch * heads * queries, kElementsPerPiece / (p.keys + 1) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  QueryBlock query;
                  query.first_row = i % queries;
                  query.kv_head = i / queries % heads;
                  query.sample = i / queries / heads;
                  const int64_t keys = summary.batch == 0 ? most : ValidKeys(p, query.sample);
                  HWY_DYNAMIC_DISPATCH(SummarizeQueryMask)(p, query, keys, data + i * tiles);
                }
              });
  summary.data = data;
  return summary;
}

// Widens `heads` of the cache, [batch, kv_heads, keys, size] with these strides, which become those
// of the result.
absl::StatusOr<Tensor> Widen(const AttentionProblem& p, const void* heads, int64_t size,
                             HeadStrides& strides, Allocator& allocator) {
  const int64_t samples = strides.batch == 0 ? 1 : p.batch;
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor floats,
      Tensor::Allocate(DataType::kFloat, {samples, p.kv_heads, p.keys, size}, allocator));
  auto* const to = floats.mutable_data<float>();
  ParallelFor(samples * p.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / p.kv_heads * strides.batch + i % p.kv_heads * strides.head;
      HWY_DYNAMIC_DISPATCH(WidenHead)
      (p.narrow.At(heads, head), strides.sequence, p.keys, size, p.narrow.form,
       to + i * p.keys * size);
    }
  });
  const int64_t head = p.keys * size;
  strides = {.batch = samples == 1 ? 0 : p.kv_heads * head, .sequence = size, .head = head};
  return floats;
}

// Computes block after block of queries.
absl::Status AttendBlocks(const AttentionProblem& problem, const MaskSummary& summary,
                          Allocator& allocator) {
  const int64_t rows_per_block = RowsPerBlock(problem);
  const QueryBlocks blocks(problem, rows_per_block);
  // Blocks are handed out one by one: masks make some cost more than others.
  std::atomic<int64_t> next = 0;
  auto run = [&](int64_t, int64_t, float* scratch) {
    std::optional<AmxScope> tiles;
    if (problem.bf16) tiles.emplace();
    for (int64_t i = next++; i < blocks.total() && !Interrupted(); i = next++) {
      HWY_DYNAMIC_DISPATCH(AttendBlock)
      (problem, summary, blocks.At(i), scratch, [&] { return blocks.At(next); });
    }
  };
  return ParallelForWithScratch(std::min<int64_t>(blocks.total(), NumThreads()), 1,
                                BlockScratch(problem, rows_per_block).total, allocator, run);
}

}  // namespace

absl::Status StreamingAttention(const AttentionProblem& problem, Allocator& allocator) {
  if (problem.batch * RowsOf(problem) * problem.value_size == 0) return absl::OkStatus();
  Tensor table;
  ATTNRUN_ASSIGN_OR_RETURN(const MaskSummary summary, SummarizeMask(problem, allocator, table));
  if (HasFewQueries(problem)) {
    ATTNRUN_ASSIGN_OR_RETURN(const bool done, AttendFewQueries(problem, summary, allocator));
    if (done) return absl::OkStatus();
  }
  if (AttendsWholeRows(problem)) return AttendWholeRows(problem, summary, allocator);
  if (!problem.narrow.exists()) return AttendBlocks(problem, summary, allocator);
  AttentionProblem floats = problem;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor k, Widen(problem, problem.narrow.k, problem.head_size,
                                                 floats.k_strides, allocator));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor v, Widen(problem, problem.narrow.v, problem.value_size,
                                                 floats.v_strides, allocator));
  floats.k = k.data<float>();
  floats.v = v.data<float>();
  return AttendBlocks(floats, summary, allocator);
}

int64_t AttentionFlops(const AttentionProblem& problem) {
  int64_t pairs = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t s = 0; s < problem.queries; ++s) {
      const IndexRange unmasked = UnmaskedKeys(problem, b, s);
      pairs += unmasked.end - unmasked.begin;
    }
  }
  return 2 * pairs * problem.query_heads * (problem.head_size + problem.value_size);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
