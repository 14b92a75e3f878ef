// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/whole_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "absl/functional/function_ref.h"
#include "hwy/highway.h"
#include "ops/attention/whole_rows.h"
#if HWY_TARGET <= HWY_AVX3
#include "ops/attention/whole_rows-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// True if this instruction set has WholeRows. A build may leave out the one that has it.
bool HasWholeRows() { return HWY_TARGET <= HWY_AVX3; }

// Computes the blocks that `next` returns, until one has no rows.
void AttendBlocks([[maybe_unused]] const AttentionProblem& problem,
                  [[maybe_unused]] const MaskSummary& summary, [[maybe_unused]] uint8_t* scratch,
                  [[maybe_unused]] absl::FunctionRef<QueryBlock()> next) {
#if HWY_TARGET <= HWY_AVX3
  WholeRows rows(problem, summary, scratch);
  for (QueryBlock block = next(); block.rows > 0; block = next()) rows.Attend(block);
#endif
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <vector>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/attention/whole_rows_layout.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(HasWholeRows);
HWY_EXPORT(AttendBlocks);

// Rows of a block: all of a head, which is packed once for them; or fewer, so that every thread has
// some blocks.
int64_t RowsPerBlock(const AttentionProblem& problem) {
  constexpr int64_t kLeast = 64;
  constexpr int64_t kMost = 512;
  const int64_t rows = RowsOf(problem);
  const int64_t heads = problem.batch * problem.kv_heads;
  const int64_t blocks_per_head = std::max<int64_t>(1, 4 * NumThreads() / heads);
  return std::clamp(DivCeil(DivCeil(rows, blocks_per_head), kAmxRows) * kAmxRows, kLeast, kMost);
}

// Hands out blocks one by one, since masks make some cost more than others. Each thread first works
// through a share of adjacent ones, as in products that share rows: its part of q is in its cache.
class BlockShares {
 public:
  BlockShares(int64_t total, int64_t threads) : total_(total), taken_(threads) {}

  // The next block of a share, or of another one; `total` if there is none.
  int64_t Take(int64_t share) {
    const auto count = static_cast<int64_t>(taken_.size());
    for (int64_t i = 0; i < count; ++i, share = share + 1 == count ? 0 : share + 1) {
      const int64_t block = share * total_ / count + taken_[share]++;
      if (block < (share + 1) * total_ / count) return block;
    }
    return total_;
  }

 private:
  const int64_t total_;
  std::vector<std::atomic<int64_t>> taken_;
};

}  // namespace

bool AttendsWholeRows(const AttentionProblem& problem) {
  constexpr int64_t kMostBytes = 3 << 18;
  const bool adjacent = problem.q_strides.channel == 1 && problem.k_strides.channel == 1 &&
                        problem.v_strides.channel == 1 && problem.y_strides.channel == 1;
  return problem.bf16 && adjacent && !problem.narrow.exists() &&
         WholeRowsScratchBytes(problem) <= kMostBytes && HWY_DYNAMIC_DISPATCH(HasWholeRows)();
}

int64_t WholeRowsScratchBytes(const AttentionProblem& problem) {
  return WholeRowsLayout(problem).total;
}

absl::Status AttendWholeRows(const AttentionProblem& problem, const MaskSummary& summary,
                             Allocator& allocator) {
  const QueryBlocks blocks(problem, RowsPerBlock(problem));
  const int64_t total = blocks.total();
  const int64_t floats = DivCeil(WholeRowsScratchBytes(problem), sizeof(float));
  const int64_t threads = std::min<int64_t>(total, NumThreads());
  BlockShares shares(total, threads);
  return ParallelForWithScratch(threads, 1, floats, allocator,
                                [&](int64_t begin, int64_t end, float* scratch) {
                                  const AmxScope tiles;
                                  for (int64_t share = begin; share < end; ++share) {
                                    HWY_DYNAMIC_DISPATCH(AttendBlocks)
                                    (problem, summary, reinterpret_cast<uint8_t*>(scratch), [&] {
                                      const int64_t i = Interrupted() ? total : shares.Take(share);
                                      return blocks.At(i);
                                    });
                                  }
                                });
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
