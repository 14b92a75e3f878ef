// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_INL_H_
#undef ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_ATTENTION_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/attention_softmax-inl.h"
#include "ops/attention/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes one block: online softmax (Milakov and Gimelshein 2018) over tiles of keys. Tiles that
// bias and mask seem to close are put off until the rows' peaks are known; most then prove too
// small to change a single bit.
class BlockAttention {
 public:
  BlockAttention(const AttentionProblem& problem, const AttentionBlock& block, float* scratch)
      : p_(problem),
        block_(block),
        layout_(problem, block.rows),
        scratch_(scratch),
        mask_(problem, block, scratch + layout_.mask),
        valid_(ValidKeys(problem, block.sample)),
        by_position_(problem.causal || problem.left_window >= 0 || problem.right_window >= 0) {}

  void Run() {
    LoadQueries();
    float* bounds = scratch_ + layout_.bounds;
    for (int64_t first = 0; first < valid_; first += kKeyTile) {
      bounds[first / kKeyTile] = ComputeOrPutOff(first);
    }
    for (int64_t first = 0; first < valid_; first += kKeyTile) {
      const float bound = bounds[first / kKeyTile];
      if (bound == kDone || IsNegligible(first, bound)) continue;
      ComputeTile(first, RowsOf(first), true);
    }
    StoreRows();
  }

 private:
  static constexpr float kDone = std::numeric_limits<float>::infinity();

  int64_t KeysFrom(int64_t first) const { return std::min(kKeyTile, valid_ - first); }

  // A finite score counts even where it is closed.
  IndexRange RowsOf(int64_t first) const {
    if (!by_position_ || p_.closed_score != kMinusInfinity) return {0, block_.rows};
    return RowsOpenTo(p_, block_, first);
  }

  void LoadQueries() {
    float* out = scratch_ + layout_.queries;
    for (int64_t row = 0; row < block_.rows; ++row) {
      const float* q = p_.q + block_.sample * p_.q_strides.batch +
                       block_.Query(row) * p_.q_strides.sequence +
                       block_.Head(row) * p_.q_strides.head;
      // A stride known to be 1 becomes vector code.
      if (p_.q_strides.channel == 1) {
        for (int64_t h = 0; h < p_.head_size; ++h) out[h] = q[h] * p_.scale;
      } else {
        for (int64_t h = 0; h < p_.head_size; ++h) out[h] = q[h * p_.q_strides.channel] * p_.scale;
      }
      out += p_.head_size;
    }
    std::fill_n(scratch_ + layout_.peaks, block_.rows, kMinusInfinity);
    std::fill_n(scratch_ + layout_.totals, block_.rows * kWidestVector, 0.0F);
    std::fill_n(scratch_ + layout_.sums, block_.rows * layout_.value_stride, 0.0F);
  }

  // Computes a tile with open keys and returns kDone; so it does if nothing of the tile counts.
  // Otherwise returns what no number of the bias exceeds.
  float ComputeOrPutOff(int64_t first) {
    const IndexRange rows = RowsOf(first);
    if (rows.begin == rows.end) return kDone;
    if (by_position_ && p_.closed_score != kMinusInfinity) {
      const IndexRange open = RowsOpenTo(p_, block_, first);
      if (open.begin == open.end) return kMinusInfinity;
    }
    const MaskFacts facts = mask_.Facts(rows, first, KeysFrom(first));
    if (facts.open) {
      ComputeTile(first, rows, !facts.trivial);
      return kDone;
    }
    const bool nothing = facts.highest == kMinusInfinity && p_.closed_score == kMinusInfinity;
    return nothing ? kDone : facts.highest;
  }

  // Whether every score of a tile is so far below its row's peak that its weight is 0. |q k| is at
  // most the sum of q's magnitudes times the greatest of k's.
  bool IsNegligible(int64_t first, float bound) const {
    const float greatest_key = bound == kMinusInfinity ? 0 : GreatestKey(first);
    const float* q = scratch_ + layout_.queries;
    for (int64_t row = 0; row < block_.rows; ++row, q += p_.head_size) {
      float highest = p_.closed_score;
      if (bound != kMinusInfinity) {
        float magnitudes = 0;
        for (int64_t h = 0; h < p_.head_size; ++h) magnitudes += std::fabs(q[h]);
        // Twice as much, for rounding.
        highest = std::max(highest, bound + 2 * magnitudes * greatest_key);
      }
      // Below -88, ExpOfNonPositive gives 0. False for NaN.
      if (!(highest - scratch_[layout_.peaks + row] < -88)) return false;
    }
    return true;
  }

  float GreatestKey(int64_t first) const {
    float greatest = 0;
    for (int64_t t = first; t < first + KeysFrom(first); ++t) {
      for (int64_t h = 0; h < p_.head_size; ++h) {
        const float magnitude = std::fabs(Keys(t)[h * p_.k_strides.channel]);
        // NaN stays.
        if (!(magnitude <= greatest)) greatest = magnitude;
      }
    }
    return greatest;
  }

  const float* Keys(int64_t t) const {
    return p_.k + block_.sample * p_.k_strides.batch + block_.kv_head * p_.k_strides.head +
           t * p_.k_strides.sequence;
  }
  const float* Values(int64_t t) const {
    return p_.v + block_.sample * p_.v_strides.batch + block_.kv_head * p_.v_strides.head +
           t * p_.v_strides.sequence;
  }

  void ComputeTile(int64_t first, IndexRange rows, bool masked) {
    const int64_t count = KeysIn(first, rows);
    const auto n = static_cast<size_t>(rows.end - rows.begin);
    float* scores = scratch_ + layout_.scores;
    float* keys = scratch_ + layout_.keys;
    PackTransposed(Keys(first), p_.k_strides.sequence, p_.k_strides.channel, count, p_.head_size,
                   kKeyTile, keys);
    Multiply(scratch_ + layout_.queries + rows.begin * p_.head_size, p_.head_size, n, keys,
             kKeyTile, kKeyTile, p_.head_size, false, scores, kKeyTile);
    if (HasRules(first, rows, masked)) {
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const ScoreRules rules = RulesOf(p_, block_, mask_, row, first, count, masked);
        ApplyRules(rules, scores + (row - rows.begin) * kKeyTile);
      }
    }
    float* sums = scratch_ + layout_.sums + rows.begin * layout_.value_stride;
    TakeScores({n, scores, scratch_ + layout_.peaks + rows.begin,
                scratch_ + layout_.totals + rows.begin * kWidestVector, sums,
                static_cast<size_t>(layout_.value_stride)});
    const float* values = Values(first);
    int64_t values_stride = p_.v_strides.sequence;
    if (p_.v_strides.channel != 1) {
      values = CopyValues(first, count);
      values_stride = layout_.value_stride;
    }
    Multiply(scores, kKeyTile, n, values, values_stride, p_.value_size, count, true, sums,
             layout_.value_stride);
  }

  // Keys of the tile up to the last that counts for one of the rows.
  int64_t KeysIn(int64_t first, IndexRange rows) const {
    if (!by_position_ || p_.closed_score != kMinusInfinity) return KeysFrom(first);
    const int64_t end = OpenKeys(p_, block_.sample, block_.Query(rows.end - 1)).end;
    return std::min(kKeyTile, end - first);
  }

  // Whether anything stands between q k^T and the softmax of some row.
  bool HasRules(int64_t first, IndexRange rows, bool masked) const {
    if (masked || p_.softcap > 0 || KeysFrom(first) < kKeyTile) return true;
    if (!by_position_) return false;
    const int64_t begin = OpenKeys(p_, block_.sample, block_.Query(rows.end - 1)).begin;
    const int64_t end = OpenKeys(p_, block_.sample, block_.Query(rows.begin)).end;
    return begin > first || end < first + kKeyTile;
  }

  const float* CopyValues(int64_t first, int64_t count) {
    float* out = scratch_ + layout_.values;
    for (int64_t t = 0; t < count; ++t) {
      for (int64_t h = 0; h < p_.value_size; ++h) {
        out[t * layout_.value_stride + h] = Values(first + t)[h * p_.v_strides.channel];
      }
    }
    return out;
  }

  void StoreRows() const {
    const FloatTag d;
    for (int64_t row = 0; row < block_.rows; ++row) {
      const float* sums = scratch_ + layout_.sums + row * layout_.value_stride;
      const float total =
          hn::ReduceSum(d, hn::LoadU(d, scratch_ + layout_.totals + row * kWidestVector));
      // With a peak of -inf, all weights are 0, but for NaN.
      const bool closed = scratch_[layout_.peaks + row] == kMinusInfinity && total == 0;
      const float factor = 1.0F / total;
      float* y = p_.y + block_.sample * p_.y_strides.batch +
                 block_.Query(row) * p_.y_strides.sequence + block_.Head(row) * p_.y_strides.head;
      if (p_.y_strides.channel == 1 && !closed) {
        for (int64_t h = 0; h < p_.value_size; ++h) y[h] = sums[h] * factor;
        continue;
      }
      for (int64_t h = 0; h < p_.value_size; ++h) {
        y[h * p_.y_strides.channel] = closed ? p_.closed_row : sums[h] * factor;
      }
    }
  }

  const AttentionProblem& p_;
  const AttentionBlock& block_;
  const BlockScratch layout_;
  float* const scratch_;
  const BlockMask mask_;
  const int64_t valid_;
  const bool by_position_;
};

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
