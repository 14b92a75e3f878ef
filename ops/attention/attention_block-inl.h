// SPDX-License-Identifier: Apache-2.0
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

#include "absl/functional/function_ref.h"
#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "hwy/highway.h"
#include "ops/attention/attention_bf16.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/attention_reduce-inl.h"
#include "ops/attention/attention_scheduler-inl.h"
#include "ops/attention/attention_softmax-inl.h"
#include "ops/attention/attention_tile-inl.h"
#include "ops/tensors/half.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes attention for one block of queries: online softmax (Milakov and Gimelshein 2018) over
// tiles of kKeyTile keys.
//
// For each tile: the keys are packed, scaled and transposed; scores = q k^T; softcap, bias, mask
// and position modify the scores (ScoreModifiers); UpdateSoftmax raises the peak of a row, rescales
// its sums if need be and turns scores into weights exp(score - peak); the weights times the values
// are added to the row's sums. At the end y = sums / total.
//
// Tiles whose scores are all -inf for a row are skipped. Masks of exporters are often large
// negative numbers instead, so there are two passes. The first pass defers tiles that bias and mask
// seem to mask: it computes a tile for the rows from the first to the last that are not masked.
// Afterwards the peaks are known, and an upper bound on the deferred scores proves for almost all
// rows that their weights are exactly 0. The second pass computes the other rows anew, over all
// tiles in order.
//
// Invariant on bits: an output row depends on its own q, bias, mask and position and on the keys
// and values unmasked for it, never on the other rows of its block, whose size depends on the
// number of threads. It holds because tiles start at multiples of kKeyTile, so that the summation
// order does not depend on the mask; because a tile that is skipped would add exactly 0; and
// because a row of the second pass starts again from nothing.
class TiledAttention {
 public:
  // `next` returns the block that this thread will probably compute next; no rows if there is none.
  TiledAttention(const AttentionProblem& problem, const MaskSummary& summary,
                 const QueryBlock& block, float* scratch, absl::FunctionRef<QueryBlock()> next)
      : p_(problem),
        block_(block),
        next_(next),
        layout_(problem, block.rows),
        scratch_(scratch),
        mask_(problem, block, scratch + layout_.mask),
        bf16_(problem, block.rows, scratch + layout_.bf16),
        scheduler_(problem, summary, block, mask_) {}

  void Run() {
    FindQueries();
    if (p_.bf16) bf16_.PackQueries({queries_, query_stride_});
    Reset({0, block_.rows});
    auto* schedules = reinterpret_cast<TileSchedule*>(scratch_ + layout_.schedules);
    for (int64_t tile = 0; tile < TilesOf(scheduler_.valid()); ++tile) {
      schedules[tile] = scheduler_.Schedule(tile * kKeyTile);
    }
    for (int64_t first = scheduler_.Next(schedules, 0); first < scheduler_.valid();) {
      if (Interrupted()) return;
      const int64_t following = scheduler_.Next(schedules, first + kKeyTile);
      const TileSchedule& schedule = schedules[first / kKeyTile];
      ComputeTile(first, schedule.rows, schedule.applies_mask, following);
      first = following;
    }
    RunSecondPass(RowsOfSecondPass(schedules));
    StoreRows();
  }

 private:
  const float* Query(const QueryBlock& block, int64_t row) const {
    return p_.q + block.sample * p_.q_strides.batch + block.Query(row) * p_.q_strides.sequence +
           block.Head(row) * p_.q_strides.head;
  }

  // Uses the queries in place: loads from a copy would wait for stores of earlier rows whose
  // addresses look alike in the lower bits. Copies them where rows alternate between heads, so that
  // no single stride leads from row to row, and where channels are not adjacent.
  void FindQueries() {
    queries_ = Query(block_, 0);
    query_stride_ = p_.q_strides.sequence;
    if (block_.group == 1 && p_.q_strides.channel == 1) return;
    float* out = scratch_ + layout_.queries;
    queries_ = out;
    query_stride_ = p_.head_size;
    for (int64_t row = 0; row < block_.rows; ++row, out += p_.head_size) {
      CopyChannels(Query(block_, row), p_.q_strides.channel, p_.head_size, out);
    }
  }

  void Reset(IndexRange rows) {
    const int64_t count = rows.end - rows.begin;
    std::fill_n(scratch_ + layout_.peaks + rows.begin, count, kMinusInfinity);
    std::fill_n(scratch_ + layout_.totals + rows.begin * kWidestVector, count * kWidestVector,
                0.0F);
    std::fill_n(Sums(rows.begin), count * layout_.value_stride, 0.0F);
    if (p_.sinks.data == nullptr) return;
    InitializeFromSinks(p_, block_, rows, scratch_ + layout_.peaks, scratch_ + layout_.totals);
  }

  // The range of rows that need the second pass: those to which a deferred score may contribute.
  IndexRange RowsOfSecondPass(const TileSchedule* schedules) {
    IndexRange all{block_.rows, 0};
    for (int64_t first = 0; first < scheduler_.valid(); first += kKeyTile) {
      const TileSchedule& schedule = schedules[first / kKeyTile];
      if (!schedule.deferred) continue;
      const IndexRange rows = scheduler_.RowsOf(first);
      if (rows.begin >= all.begin && rows.end <= all.end) continue;
      const IndexRange affected = RowsToRecompute(first, schedule);
      all = {std::min(all.begin, affected.begin), std::max(all.end, affected.end)};
    }
    return all;
  }

  // The range of rows for which a deferred score of this tile may have a weight other than 0.
  // |q k| is at most the sum of q's magnitudes times the greatest magnitude in k.
  IndexRange RowsToRecompute(int64_t first, const TileSchedule& schedule) {
    const float greatest_key =
        schedule.max_deferred_bias == kMinusInfinity ? 0 : GreatestKey(first);
    if (schedule.max_deferred_bias != kMinusInfinity) SumMagnitudes();
    const auto may_contribute = [&](int64_t row) {
      if (row >= schedule.rows.begin && row < schedule.rows.end) return false;
      const float product = schedule.max_deferred_bias == kMinusInfinity
                                ? 0
                                : scratch_[layout_.magnitudes + row] * greatest_key;
      // Had the tile been computed in order, the peak might be lower by up to kSlack.
      return MayContribute(p_, schedule.max_deferred_bias, product, scratch_[layout_.peaks + row],
                           kSlack);
    };
    IndexRange rows = scheduler_.RowsOf(first);
    while (rows.begin < rows.end && !may_contribute(rows.begin)) ++rows.begin;
    while (rows.begin < rows.end && !may_contribute(rows.end - 1)) --rows.end;
    if (rows.begin == rows.end) return {block_.rows, 0};
    return rows;
  }

  void RunSecondPass(IndexRange rows) {
    if (rows.begin >= rows.end) return;
    Reset(rows);
    for (int64_t first = 0; first < scheduler_.valid(); first += kKeyTile) {
      if (Interrupted()) return;
      const IndexRange unmasked = scheduler_.RowsOf(first);
      ComputeTile(first, {std::max(rows.begin, unmasked.begin), std::min(rows.end, unmasked.end)},
                  true, first + kKeyTile);
    }
  }

  // Computes an upper bound of |scale * q| per row, once per block.
  void SumMagnitudes() {
    if (has_magnitudes_) return;
    has_magnitudes_ = true;
    for (int64_t row = 0; row < block_.rows; ++row) {
      scratch_[layout_.magnitudes + row] =
          std::abs(p_.scale) * SumOfMagnitudes(queries_ + row * query_stride_, p_.head_size);
    }
  }

  // The greatest magnitude among the keys of a tile; NaN if one of them is NaN.
  float GreatestKey(int64_t first) const {
    float greatest = 0;
    for (int64_t t = first; t < first + scheduler_.KeysFrom(first); ++t) {
      const float* key = Key(block_, t);
      if (p_.k_strides.channel == 1) {
        greatest = GreatestMagnitude(key, p_.head_size, greatest);
        continue;
      }
      for (int64_t h = 0; h < p_.head_size; ++h) {
        greatest = GreatestMagnitude(key + h * p_.k_strides.channel, 1, greatest);
      }
    }
    return greatest;
  }

  const float* Key(const QueryBlock& block, int64_t t) const {
    return p_.k + block.sample * p_.k_strides.batch + block.kv_head * p_.k_strides.head +
           t * p_.k_strides.sequence;
  }
  const float* Values(int64_t t) const {
    return p_.v + block_.sample * p_.v_strides.batch + block_.kv_head * p_.v_strides.head +
           t * p_.v_strides.sequence;
  }

  // Rows that are multiplied at once, and how many keys of a tile, from its first, they need.
  struct Piece {
    IndexRange rows;
    int64_t keys;
  };

  // All rows with `count` keys; or only the first rows if position leaves them fewer keys, so that
  // they do not pay for the keys of the last row. Whole register tiles.
  Piece PieceOf(IndexRange rows, int64_t first, int64_t count) const {
    const int64_t at_once = p_.bf16 ? 2 * kAmxRows : 5 * kTileRows;
    const int64_t begin = p_.bf16 ? Bf16Products::GroupOf(rows.begin) : rows.begin;
    const IndexRange some = {rows.begin, std::min<int64_t>(begin + at_once, rows.end)};
    const int64_t keys = scheduler_.KeysIn(first, some, false);
    if (keys + static_cast<int64_t>(kLanes) <= count) return {some, keys};
    return {rows, count};
  }

  // Adds one tile to the given rows. `following`: the tile that comes next; past the last one, the
  // next block follows.
  void ComputeTile(int64_t first, IndexRange rows, bool applies_mask, int64_t following) {
    if (rows.begin >= rows.end) return;
    const int64_t count = scheduler_.KeysIn(first, rows, applies_mask);
    if (p_.bf16) return ComputeBf16Tile(first, rows, count, applies_mask);
    PackTransposed({Key(block_, first), p_.k_strides.sequence, p_.k_strides.channel}, p_.scale,
                   count, p_.head_size, kKeyTile, scratch_ + layout_.keys);
    const bool packs_values = PacksValues(rows.end - rows.begin);
    // Asks late, since other threads take blocks until then.
    const bool last = following >= scheduler_.valid();
    const QueryBlock next = last ? next_() : QueryBlock{};
    Fetch beside_keys = FetchQueries(next);
    if (packs_values) {
      beside_keys.Add(Values(first), p_.v_strides.sequence, count, p_.value_size);
    }
    // The hardware does not prefetch the bias: its rows of one tile are short and far from each
    // other.
    const float* bias = applies_mask ? mask_.OwnBias(rows.begin, first) : nullptr;
    if (bias != nullptr) beside_keys.Add(bias, p_.bias.query, rows.end - rows.begin, count);
    Fetch beside_values = FetchAfter(following, next);
    const float* values = Values(first);
    int64_t values_stride = p_.v_strides.sequence;
    for (int64_t row = rows.begin; row < rows.end;) {
      const Piece piece = PieceOf({row, rows.end}, first, count);
      ComputeWeights(first, piece, applies_mask, beside_keys);
      // The product with the keys has fetched the values.
      if (packs_values && row == rows.begin) {
        values = CopyValues(first, count);
        values_stride = layout_.value_stride;
      }
      Multiply(scratch_ + layout_.scores, kKeyTile, piece.rows.end - row, values, values_stride,
               p_.value_size, piece.keys, true, Sums(row), layout_.value_stride, beside_values);
      row = piece.rows.end;
    }
  }

  // As ComputeTile, with products in bf16.
  void ComputeBf16Tile(int64_t first, IndexRange rows, int64_t count, bool applies_mask) {
    bf16_.PackKeys(KeyRows(first, count), count);
    bf16_.PackValues(ValueRows(first, count), count);
    for (int64_t row = rows.begin; row < rows.end;) {
      const Piece piece = PieceOf({row, rows.end}, first, count);
      float* const scores = scratch_ + layout_.scores;
      const int64_t columns = WholeVectors(piece.keys);
      bf16_.Scores(piece.rows, columns, scores);
      float* const asked = scores + (row - Bf16Products::GroupOf(row)) * kKeyTile;
      ScoreModifiers scaled;
      scaled.scale = p_.scale;
      for (int64_t i = 0; i < piece.rows.end - row; ++i) {
        ModifyScores(scaled, columns, asked + i * kKeyTile);
      }
      FinishWeights(first, piece, applies_mask, asked);
      bf16_.AddValues(piece.rows, columns, scores, Sums(0), layout_.value_stride);
      row = piece.rows.end;
    }
  }

  // Rows of keys and values whose channels are adjacent: in place, or copied.
  FloatRows KeyRows(int64_t first, int64_t count) {
    if (p_.k_strides.channel == 1) return {Key(block_, first), p_.k_strides.sequence};
    float* const out = scratch_ + layout_.keys;
    for (int64_t t = 0; t < count; ++t) {
      CopyChannels(Key(block_, first + t), p_.k_strides.channel, p_.head_size,
                   out + t * p_.head_size);
    }
    return {out, p_.head_size};
  }
  FloatRows ValueRows(int64_t first, int64_t count) {
    if (p_.v_strides.channel == 1) return {Values(first), p_.v_strides.sequence};
    return {CopyValues(first, count), layout_.value_stride};
  }

  // The queries of the next block, to be prefetched.
  Fetch FetchQueries(const QueryBlock& next) const {
    Fetch fetch;
    // Otherwise rows alternate between heads and have no single stride.
    if (next.group == 1) {
      fetch.Add(Query(next, 0), p_.q_strides.sequence, next.rows, p_.head_size);
    }
    return fetch;
  }

  // The memory that is read after this tile, to be prefetched.
  Fetch FetchAfter(int64_t following, const QueryBlock& next) const {
    Fetch fetch;
    if (following < scheduler_.valid()) {
      fetch.Add(Key(block_, following), p_.k_strides.sequence, scheduler_.KeysFrom(following),
                p_.head_size);
      return fetch;
    }
    if (next.rows > 0) {
      fetch.Add(Key(next, 0), p_.k_strides.sequence, std::min(kKeyTile, p_.keys), p_.head_size);
    }
    if (block_.group == 1) {
      fetch.Add(Y(0), p_.y_strides.sequence, block_.rows, p_.value_size);
    }
    return fetch;
  }

  // Computes the weights of some rows for the first keys of a tile and adds them to the totals.
  void ComputeWeights(int64_t first, const Piece& piece, bool applies_mask, Fetch& fetch) {
    const auto& [rows, count] = piece;
    const auto n = static_cast<size_t>(rows.end - rows.begin);
    float* const scores = scratch_ + layout_.scores;
    const int64_t columns = WholeVectors(count);
    Multiply(queries_ + rows.begin * query_stride_, query_stride_, n, scratch_ + layout_.keys,
             kKeyTile, columns, p_.head_size, false, scores, kKeyTile, fetch);
    FinishWeights(first, piece, applies_mask, scores);
  }

  // Columns beyond the keys become -inf.
  static int64_t WholeVectors(int64_t keys) {
    return DivCeil(keys, static_cast<int64_t>(kLanes)) * kLanes;
  }

  // Turns scores into weights and adds them to the totals.
  void FinishWeights(int64_t first, const Piece& piece, bool applies_mask, float* scores) {
    const auto& [rows, count] = piece;
    const auto n = static_cast<size_t>(rows.end - rows.begin);
    const int64_t columns = WholeVectors(count);
    if (scheduler_.HasModifiers(first, rows, applies_mask)) {
      ModifyRows(rows, first, count, columns, applies_mask, scores);
    }
    UpdateSoftmax({n, scores, static_cast<size_t>(columns), scratch_ + layout_.peaks + rows.begin,
                   scratch_ + layout_.totals + rows.begin * kWidestVector, Sums(rows.begin),
                   static_cast<size_t>(layout_.value_stride)});
  }

  float* Sums(int64_t row) const { return scratch_ + layout_.sums + row * layout_.value_stride; }

  void ModifyRows(IndexRange rows, int64_t first, int64_t count, int64_t columns, bool applies_mask,
                  float* scores) {
    const bool same = scheduler_.SameModifiers(applies_mask);
    const MaskParts parts = {applies_mask, applies_mask && !mask_.AllUnmasked(first, count)};
    ScoreModifiers modifiers;
    for (int64_t row = rows.begin; row < rows.end; ++row, scores += kKeyTile) {
      if (!same || row == rows.begin) {
        modifiers = ModifiersOf(p_, block_, mask_, row, first, count, parts);
      }
      if (!modifiers.ChangeNothing()) ModifyScores(modifiers, columns, scores);
    }
  }

  // True if values are copied: rows that lie a multiple of a cache's size apart would evict each
  // other while every few rows of scores read them again.
  bool PacksValues(int64_t rows) const {
    constexpr int64_t kFew = 12;
    return p_.v_strides.channel != 1 ||
           (rows > kFew && p_.v_strides.sequence != layout_.value_stride);
  }

  const float* CopyValues(int64_t first, int64_t count) {
    float* out = scratch_ + layout_.values;
    for (int64_t t = 0; t < count; ++t) {
      CopyChannels(Values(first + t), p_.v_strides.channel, p_.value_size,
                   out + t * layout_.value_stride);
    }
    return out;
  }

  // The offset of a row of y.
  int64_t RowOfY(int64_t row) const {
    return block_.sample * p_.y_strides.batch + block_.Query(row) * p_.y_strides.sequence +
           block_.Head(row) * p_.y_strides.head;
  }
  float* Y(int64_t row) const { return p_.y + RowOfY(row); }

  void StoreRows() const {
    for (int64_t row = 0; row < block_.rows; row += kLanes) StoreSomeRows(row);
  }

  // Stores as many rows from `first` on as a vector has lanes, whose totals are reduced at once.
  void StoreSomeRows(int64_t first) const {
    const FloatTag d;
    HWY_ALIGN float totals[kLanes];
    HWY_ALIGN float factors[kLanes];
    const FloatVec sum = ReduceRows(
        [&](size_t r) HWY_ATTR {
          const int64_t row = std::min(first + static_cast<int64_t>(r), block_.rows - 1);
          return hn::LoadU(d, scratch_ + layout_.totals + row * kWidestVector);
        },
        [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); });
    hn::Store(sum, d, totals);
    hn::Store(hn::Div(hn::Set(d, 1.0F), sum), d, factors);
    const int64_t count = std::min<int64_t>(block_.rows - first, kLanes);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t row = first + r;
      if (IsMaskedRow(p_, scratch_[layout_.peaks + row], totals[r])) {
        StoreRow(row, MaskedRow(std::isnan(totals[r])), 1);
      } else {
        StoreRow(row, Sums(row), factors[r]);
      }
    }
  }

  // The values of a masked row. All weights of a row that gives 0 in place of NaN are 0, and 0
  // times a value that is NaN or infinite is NaN: a value that is not finite shows in the output.
  const float* MaskedRow(bool is_nan) const {
    // The space of the values is free by now.
    float* const row = scratch_ + layout_.values;
    std::fill_n(row, p_.value_size, p_.masked_row);
    if (!is_nan) return row;
    for (int64_t t = 0; t < scheduler_.valid(); ++t) {
      const float* values = Values(t);
      for (int64_t h = 0; h < p_.value_size; ++h) row[h] += 0 * values[h * p_.v_strides.channel];
    }
    return row;
  }

  void StoreRow(int64_t row, const float* sums, float factor) const {
    if (p_.bf16_y != nullptr) {
      // Channels of y are adjacent. MaskedRow uses the first row of this space.
      float* const floats = scratch_ + layout_.values + layout_.value_stride;
      CopyFloats(sums, p_.value_size, floats, factor);
      return NarrowToBf16(floats, p_.value_size, p_.bf16_y + RowOfY(row));
    }
    float* y = Y(row);
    if (p_.y_strides.channel == 1) return CopyFloats(sums, p_.value_size, y, factor);
    for (int64_t h = 0; h < p_.value_size; ++h) y[h * p_.y_strides.channel] = sums[h] * factor;
  }

  const AttentionProblem& p_;
  const QueryBlock& block_;
  const absl::FunctionRef<QueryBlock()> next_;
  const BlockScratch layout_;
  float* const scratch_;
  const BlockMask mask_;
  // Used if the problem asks for bf16.
  Bf16Products bf16_;
  const TileScheduler scheduler_;
  // Row r of the block begins at queries_ + r * query_stride_.
  const float* queries_ = nullptr;
  int64_t query_stride_ = 0;
  bool has_magnitudes_ = false;
};

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
