// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/few_queries.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/attention/few_queries_head-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

int64_t ListNeededTiles(const AttentionProblem& problem, const MaskSummary& summary,
                        const QueryBlock& block, NeededTile* tiles) {
  return ListTiles(problem, summary, block, tiles);
}
void ScoreHeadTile(const FewQueriesHead& head, int64_t tile) { ScoreTile(head, tile); }
bool WeighHeadTiles(const FewQueriesHead& head) { return WeighTiles(head); }
void SumHeadValues(const FewQueriesHead& head, IndexRange channels) { SumValues(head, channels); }

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>

#include "absl/container/inlined_vector.h"
#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/attention/few_queries.h"

namespace attnrun::ops {

HWY_EXPORT(ListNeededTiles);
HWY_EXPORT(ScoreHeadTile);
HWY_EXPORT(WeighHeadTiles);
HWY_EXPORT(SumHeadValues);

FewQueriesScratch::FewQueriesScratch(const AttentionProblem& problem, int64_t rows) {
  const auto take = [&](int64_t floats) {
    const int64_t begin = total;
    total += DivCeil(floats, kWidestVector) * kWidestVector;
    return begin;
  };
  const int64_t tiles = TilesOf(problem.keys);
  queries = take(rows * problem.head_size);
  scores = take(tiles * rows * kKeyTile);
  factors = take(tiles * rows * kWidestVector);
  peaks = take(rows);
  totals = take(rows * kWidestVector);
  reciprocals = take(rows);
}

namespace {

// The least number of floats of the cache per thread: some microseconds.
constexpr int64_t kLeastPerThread = 1 << 14;

// The heads of k and v of all samples, and what has been computed of them.
class Heads {
 public:
  Heads(const AttentionProblem& problem, float* scratch, NeededTile* tiles)
      : p_(problem), layout_(problem, RowsOf(problem)), scratch_(scratch), tiles_(tiles) {}

  int64_t size() const { return p_.batch * p_.kv_heads; }

  // Lists the tiles of each sample; false if one is deferred. All heads have the same.
  bool Plan(const MaskSummary& summary) {
    for (int64_t sample = 0; sample < p_.batch; ++sample) {
      NeededTile* const tiles = tiles_ + sample * TilesOf(p_.keys);
      const int64_t count =
          HWY_DYNAMIC_DISPATCH(ListNeededTiles)(p_, summary, BlockOf(sample, 0), tiles);
      if (count < 0) return false;
      counts_.push_back(count);
      most_tiles_ = std::max(most_tiles_, count);
    }
    return true;
  }

  // Computes y; false if a row is masked.
  bool Attend() {
    const int64_t threads = NumThreads();
    const int64_t work = most_tiles_ * kKeyTile * (p_.head_size + p_.value_size);
    const int64_t grain = DivCeil(kLeastPerThread, work + 1);
    const bool even = size() % threads == 0 || size() >= 4 * threads;
    if (even || size() <= grain) {
      ParallelFor(size(), grain, [&](int64_t begin, int64_t end) { AttendHeads({begin, end}); });
    } else {
      AttendUnevenly(threads);
    }
    return !masked_;
  }

 private:
  QueryBlock BlockOf(int64_t sample, int64_t kv_head) const {
    QueryBlock block;
    block.sample = sample;
    block.kv_head = kv_head;
    block.group = p_.query_heads / p_.kv_heads;
    block.rows = RowsOf(p_);
    return block;
  }

  FewQueriesHead At(int64_t index) const {
    const int64_t sample = index / p_.kv_heads;
    return {p_,
            BlockOf(sample, index % p_.kv_heads),
            tiles_ + sample * TilesOf(p_.keys),
            counts_[sample],
            layout_,
            scratch_ + index * layout_.total};
  }

  // Copies the queries of a head: its rows alternate between heads of q.
  void CopyQueries(const FewQueriesHead& head) const {
    float* to = head.scratch + layout_.queries;
    for (int64_t row = 0; row < head.block.rows; ++row) {
      const float* const from = p_.q + head.block.sample * p_.q_strides.batch +
                                head.block.Query(row) * p_.q_strides.sequence +
                                head.block.Head(row) * p_.q_strides.head;
      for (int64_t h = 0; h < p_.head_size; ++h) *to++ = from[h * p_.q_strides.channel];
    }
  }

  void Weigh(const FewQueriesHead& head) {
    if (!HWY_DYNAMIC_DISPATCH(WeighHeadTiles)(head)) masked_ = true;
  }

  void AttendHead(int64_t index) {
    const FewQueriesHead head = At(index);
    CopyQueries(head);
    for (int64_t tile = 0; tile < head.num_tiles; ++tile) {
      HWY_DYNAMIC_DISPATCH(ScoreHeadTile)(head, tile);
    }
    Weigh(head);
    HWY_DYNAMIC_DISPATCH(SumHeadValues)(head, {0, p_.value_size});
  }

  void AttendHeads(IndexRange heads) {
    for (int64_t i = heads.begin; i < heads.end && !Interrupted(); ++i) AttendHead(i);
  }

  // Each thread takes the same number of heads. They share those that are left: the tiles of keys,
  // then the heads, then the channels of values. Sums over keys stay whole, so that no bit depends
  // on the number of threads.
  void AttendUnevenly(int64_t threads) {
    const int64_t whole = size() / threads * threads;
    const int64_t left = size() - whole;
    const int64_t tiles = left * most_tiles_;
    for (int64_t i = whole; i < size(); ++i) CopyQueries(At(i));
    ParallelFor(threads, 1, [&](int64_t begin, int64_t end) {
      AttendHeads({whole * begin / threads, whole * end / threads});
      ScoreTiles(whole, {tiles * begin / threads, tiles * end / threads});
    });
    ParallelFor(left, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Weigh(At(whole + i));
    });
    // One range per thread: it reads whole rows of values but for the head that is cut.
    const int64_t parts = DivCeil(p_.value_size, kChannelsOfPart);
    ParallelFor(left * parts, DivCeil(left * parts, threads), [&](int64_t begin, int64_t end) {
      SumParts({whole * parts + begin, whole * parts + end}, parts);
    });
  }

  // Scores some tiles of the heads from `first` on, most_tiles_ per head.
  void ScoreTiles(int64_t first, IndexRange tiles) {
    for (int64_t i = tiles.begin; i < tiles.end && !Interrupted(); ++i) {
      const FewQueriesHead head = At(first + i / most_tiles_);
      const int64_t tile = i % most_tiles_;
      if (tile < head.num_tiles) HWY_DYNAMIC_DISPATCH(ScoreHeadTile)(head, tile);
    }
  }

  // Sums a range of the parts of the channels of all heads, `parts` per head.
  void SumParts(IndexRange range, int64_t parts) {
    while (range.begin < range.end && !Interrupted()) {
      const int64_t head = range.begin / parts;
      const int64_t until = std::min(range.end, (head + 1) * parts);
      const auto channel = [&](int64_t part) {
        return std::min((part - head * parts) * kChannelsOfPart, p_.value_size);
      };
      HWY_DYNAMIC_DISPATCH(SumHeadValues)(At(head), {channel(range.begin), channel(until)});
      range.begin = until;
    }
  }

  const AttentionProblem& p_;
  const FewQueriesScratch layout_;
  float* const scratch_;
  NeededTile* const tiles_;
  // The number of tiles of each sample, and the greatest of them.
  absl::InlinedVector<int64_t, 8> counts_;
  int64_t most_tiles_ = 0;
  std::atomic<bool> masked_ = false;
};

}  // namespace

bool HasFewQueries(const AttentionProblem& p) {
  const bool adjacent = p.k_strides.channel == 1 && p.v_strides.channel == 1 &&
                        p.y_strides.channel == 1 && p.bf16_y == nullptr;
  return adjacent && !p.bf16 && RowsOf(p) <= kMostFewQueriesRows && p.keys >= kKeyTile &&
         p.head_size % 4 == 0 && p.head_size <= kLargestFewQueriesHead &&
         p.value_size % kWidestVector == 0;
}

absl::StatusOr<bool> AttendFewQueries(const AttentionProblem& problem, const MaskSummary& summary,
                                      Allocator& allocator) {
  // Heads share a list of tiles.
  if (summary.head != 0) return false;
  const FewQueriesScratch layout(problem, RowsOf(problem));
  const int64_t heads = problem.batch * problem.kv_heads;
  const int64_t tiles = problem.batch * TilesOf(problem.keys);
  const auto tile_floats = static_cast<int64_t>(sizeof(NeededTile) / sizeof(float));
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor scratch,
      Tensor::Allocate(DataType::kFloat, {heads * layout.total + tiles * tile_floats}, allocator));
  auto* const floats = scratch.mutable_data<float>();
  Heads all(problem, floats, reinterpret_cast<NeededTile*>(floats + heads * layout.total));
  return all.Plan(summary) && all.Attend();
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
