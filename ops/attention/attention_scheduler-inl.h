// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_ATTENTION_SCHEDULER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_ATTENTION_SCHEDULER_INL_H_
#undef ATTNRUN_OPS_ATTENTION_ATTENTION_SCHEDULER_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_ATTENTION_SCHEDULER_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/attention_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// Decides which rows of a block the first pass computes for each tile of keys, from position, bias
// and mask. A tile is named by its first key.
class TileScheduler {
 public:
  TileScheduler(const AttentionProblem& problem, const MaskSummary& summary,
                const QueryBlock& block, const BlockMask& mask)
      : p_(problem),
        summary_(summary),
        block_(block),
        mask_(mask),
        valid_(ValidKeys(problem, block.sample)),
        by_position_(problem.causal || problem.left_window >= 0 || problem.right_window >= 0) {}

  // The number of keys.
  int64_t valid() const { return valid_; }
  int64_t KeysFrom(int64_t first) const { return std::min(kKeyTile, valid_ - first); }

  // The rows for which position leaves a key of the tile. With a finite mask value it leaves all:
  // masked scores contribute, too.
  IndexRange RowsOf(int64_t first) const {
    if (!by_position_ || p_.mask_value != kMinusInfinity) return {0, block_.rows};
    return UnmaskedRows(p_, block_, first);
  }

  // The schedule of a tile: it is computed for the range of rows from the first to the last for
  // which it is not masked.
  TileSchedule Schedule(int64_t first) const {
    const IndexRange rows = RowsOf(first);
    TileSchedule schedule;
    schedule.rows = {rows.begin, rows.begin};
    if (rows.begin == rows.end) return schedule;
    if (p_.bias_on_masked) {
      // The bias may unmask keys again: nothing is known in advance.
      schedule.rows = rows;
      schedule.applies_mask = true;
      return schedule;
    }
    if (by_position_ && p_.mask_value != kMinusInfinity) {
      const IndexRange unmasked = UnmaskedRows(p_, block_, first);
      schedule.deferred = unmasked.begin == unmasked.end;
      if (schedule.deferred) return schedule;
    }
    const TileSummary summary = SummarizeTile(summary_, block_, rows, first);
    const bool all = summary.rows.begin == rows.begin && summary.rows.end == rows.end;
    schedule.rows = summary.rows;
    schedule.applies_mask = !summary.no_effect;
    schedule.max_deferred_bias = summary.max_masked_bias;
    schedule.deferred =
        !all && (summary.max_masked_bias != kMinusInfinity || p_.mask_value != kMinusInfinity);
    return schedule;
  }

  // The first tile from `first` on that the first pass computes; valid() or more if there is none.
  int64_t Next(const TileSchedule* schedules, int64_t first) const {
    const auto is_empty = [&] {
      const IndexRange rows = schedules[first / kKeyTile].rows;
      return rows.begin >= rows.end;
    };
    while (first < valid_ && is_empty()) first += kKeyTile;
    return first;
  }

  // The number of keys of the tile up to the last one that one of the rows needs.
  int64_t KeysIn(int64_t first, IndexRange rows, bool applies_mask) const {
    int64_t count = KeysFrom(first);
    if (p_.mask_value != kMinusInfinity) return count;
    if (by_position_) {
      const int64_t end = UnmaskedKeys(p_, block_.sample, block_.Query(rows.end - 1)).end;
      count = std::min(count, end - first);
    }
    return applies_mask ? mask_.CountToLastUnmasked(first, count) : count;
  }

  // True if softcap, bias, mask or position changes a score of one of the rows.
  bool HasModifiers(int64_t first, IndexRange rows, bool applies_mask) const {
    if (applies_mask || p_.softcap > 0 || KeysFrom(first) < kKeyTile) return true;
    if (!by_position_) return false;
    const int64_t begin = UnmaskedKeys(p_, block_.sample, block_.Query(rows.end - 1)).begin;
    const int64_t end = UnmaskedKeys(p_, block_.sample, block_.Query(rows.begin)).end;
    return begin > first || end < first + kKeyTile;
  }

  // True if the modifiers of all rows of the block are equal.
  bool SameModifiers(bool applies_mask) const {
    return !by_position_ && (!applies_mask || mask_.SameForAllRows());
  }

 private:
  const AttentionProblem& p_;
  const MaskSummary& summary_;
  const QueryBlock& block_;
  const BlockMask& mask_;
  const int64_t valid_;
  const bool by_position_;
};

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
