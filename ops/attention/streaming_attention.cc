#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/streaming_attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/attention/attention_block-inl.h"
#include "ops/attention/streaming_attention.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {

void AttendBlock(const AttentionProblem& problem, const AttentionBlock& block, float* scratch) {
  BlockAttention(problem, block, scratch).Run();
}

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "core/parallel.h"
#include "ops/attention/attention_block.h"
#include "ops/float_rows.h"

namespace attnrun {
namespace {

HWY_EXPORT(AttendBlock);

// Rows of a block: enough that packing its keys costs little next to computing with them, few
// enough that its sums stay in the second-level cache and every thread has work.
int64_t RowsPerBlock(const AttentionProblem& problem) {
  constexpr int64_t kMost = 256;
  constexpr int64_t kLeast = 32;
  const int64_t rows = problem.queries * (problem.query_heads / problem.kv_heads);
  const int64_t heads = problem.batch * problem.kv_heads;
  // Four blocks per thread even out what they cost.
  const int64_t blocks_per_head = std::max<int64_t>(1, 4 * NumThreads() / heads);
  return std::min(rows, std::clamp(rows / blocks_per_head, kLeast, kMost));
}

}  // namespace

absl::Status StreamingAttention(const AttentionProblem& problem, Allocator& allocator) {
  const int64_t rows = problem.queries * (problem.query_heads / problem.kv_heads);
  if (problem.batch * rows * problem.value_size == 0) return absl::OkStatus();
  const int64_t rows_per_block = RowsPerBlock(problem);
  const int64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
  auto run = [&](int64_t begin, int64_t end, float* scratch) {
    for (int64_t i = begin; i < end; ++i) {
      AttentionBlock block;
      block.group = problem.query_heads / problem.kv_heads;
      block.first_row = i % blocks * rows_per_block;
      block.rows = std::min(rows_per_block, rows - block.first_row);
      block.kv_head = i / blocks % problem.kv_heads;
      block.sample = i / blocks / problem.kv_heads;
      HWY_DYNAMIC_DISPATCH(AttendBlock)(problem, block, scratch);
    }
  };
  return ParallelForWithScratch(problem.batch * problem.kv_heads * blocks, 1,
                                BlockScratch(problem, rows_per_block).total, allocator, run);
}

int64_t AttentionFlops(const AttentionProblem& problem) {
  int64_t pairs = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t s = 0; s < problem.queries; ++s) {
      const IndexRange open = OpenKeys(problem, b, s);
      pairs += open.end - open.begin;
    }
  }
  return 2 * pairs * problem.query_heads * (problem.head_size + problem.value_size);
}

}  // namespace attnrun
#endif  // HWY_ONCE
