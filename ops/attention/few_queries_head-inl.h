// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_FEW_QUERIES_HEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_FEW_QUERIES_HEAD_INL_H_
#undef ATTNRUN_OPS_ATTENTION_FEW_QUERIES_HEAD_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_FEW_QUERIES_HEAD_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "core/div_ceil.h"
#include "hwy/highway.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/attention_scheduler-inl.h"
#include "ops/attention/attention_softmax-inl.h"
#include "ops/attention/few_queries_plan.h"
#include "ops/attention/few_queries_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lists the tiles that some row of `block` needs; returns their number, or -1 if one is deferred.
inline int64_t ListTiles(const AttentionProblem& problem, const MaskSummary& summary,
                         const QueryBlock& block, NeededTile* tiles) {
  float buffer[kMaskScratch];
  const BlockMask mask(problem, block, buffer);
  const TileScheduler scheduler(problem, summary, block, mask);
  const IndexRange rows = {0, block.rows};
  int64_t begin = 0;
  if (summary.data == nullptr && problem.mask_value == kMinusInfinity) {
    // The first row sees the first keys.
    begin = UnmaskedKeys(problem, block.sample, block.Query(0)).begin;
  }
  int64_t count = 0;
  for (int64_t first = begin / kKeyTile * kKeyTile; first < scheduler.valid(); first += kKeyTile) {
    TileSchedule schedule{.rows = rows};
    if (summary.data != nullptr || problem.mask_value != kMinusInfinity) {
      schedule = scheduler.Schedule(first);
      if (schedule.deferred) return -1;
      if (schedule.rows.begin >= schedule.rows.end) continue;
    }
    const int64_t keys = scheduler.KeysIn(first, rows, schedule.applies_mask);
    if (keys <= 0) break;
    tiles[count++] = {first, keys, schedule.applies_mask};
  }
  return count;
}

// The scores of up to kRowsAtOnce rows for the first `count` keys of a tile.
template <size_t kRows>
HWY_NOINLINE void ScoreRows(const float* q, const CacheRows& keys, int64_t count, int64_t size,
                            int64_t fetched, float factor, float* scores) {
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  const auto ldq = static_cast<size_t>(size);
  int64_t t = 0;
  const auto from = [&] {
    return CacheRows{keys.data + t * keys.stride, keys.stride, keys.rows - t};
  };
  for (; t + 2 * kStep <= count; t += 2 * kStep) {
    ScoreKeys<kRows, 2>(q, ldq, from(), size, fetched, factor, scores + t, kKeyTile);
  }
  if (t + kStep <= count) {
    ScoreKeys<kRows, 1>(q, ldq, from(), size, fetched, factor, scores + t, kKeyTile);
    t += kStep;
  }
  if (t == count) return;
  // Rows behind the last key must not be read.
  HWY_ALIGN float copy[kLanes * kLargestFewQueriesHead];
  std::fill_n(copy, kLanes * ldq, 0.0F);
  for (int64_t row = 0; t + row < count; ++row) {
    CopyFloats(keys.data + (t + row) * keys.stride, size, copy + row * size);
  }
  ScoreKeys<kRows, 1>(q, ldq, {copy, size, kStep}, size, 0, factor, scores + t, kKeyTile);
}

// How many of `rows` are multiplied at once.
inline int64_t RowsAtOnce(int64_t rows) {
  return DivCeil(rows, DivCeil(rows, static_cast<int64_t>(kRowsAtOnce)));
}

// select(N), a function for N rows, where N is the constant that equals `rows`.
template <size_t kRows = 1, typename Select>
auto FunctionFor(int64_t rows, Select select) {
  if constexpr (kRows < kRowsAtOnce) {
    if (rows > static_cast<int64_t>(kRows)) return FunctionFor<kRows + 1>(rows, select);
  }
  return select(std::integral_constant<size_t, kRows>());
}

// Some channels of k or of v, whose rows have `size` numbers, as floats or in fewer bits.
struct CachePart {
  const float* floats;
  const void* narrow;
  const HeadStrides& strides;
  int64_t size;
  IndexRange channels;
};

// The rows of a tile. Narrow ones are widened into `copy`, which stays in the nearest cache.
inline CacheRows RowsOfTile(const FewQueriesHead& head, const NeededTile& tile,
                            const CachePart& part, float* copy) {
  const AttentionProblem& p = head.problem;
  const auto& [floats, narrow, strides, size, channels] = part;
  const int64_t at = head.block.sample * strides.batch + head.block.kv_head * strides.head +
                     tile.first * strides.sequence;
  if (!p.narrow.exists()) {
    return {floats + at + channels.begin, strides.sequence,
            ValidKeys(p, head.block.sample) - tile.first};
  }
  const NarrowRows rows = {p.narrow.At(narrow, at), strides.sequence, size, p.narrow.form};
  WidenRows(rows, tile.keys, channels, copy);
  return {copy, channels.size(), tile.keys};
}

// The floats of a tile of keys or values that are widened.
inline constexpr int64_t kTileFloats = kKeyTile * kLargestFewQueriesHead;

// The scores of a tile, changed by softcap, bias, mask and position.
inline void ScoreTile(const FewQueriesHead& head, int64_t index) {
  const AttentionProblem& p = head.problem;
  const QueryBlock& block = head.block;
  const NeededTile& tile = head.tiles[index];
  HWY_ALIGN float copy[kTileFloats];
  const CachePart k = {p.k, p.narrow.k, p.k_strides, p.head_size, {0, p.head_size}};
  const CacheRows keys = RowsOfTile(head, tile, k, copy);
  float* const scores = head.Scores(index);
  const int64_t at_once = RowsAtOnce(block.rows);
  for (int64_t row = 0; row < block.rows; row += at_once) {
    const float* const q = head.scratch + head.layout.queries + row * p.head_size;
    const auto function = FunctionFor(std::min(block.rows - row, at_once),
                                      [](auto count) { return &ScoreRows<count()>; });
    // The first rows bring the keys for all.
    const int64_t fetched = row == 0 ? p.head_size : 0;
    function(q, keys, tile.keys, p.head_size, fetched, p.scale, scores + row * kKeyTile);
  }
  float buffer[kMaskScratch];
  const BlockMask mask(p, block, buffer);
  const TileScheduler scheduler(p, {}, block, mask);
  if (!scheduler.HasModifiers(tile.first, {0, block.rows}, tile.applies_mask)) return;
  const MaskParts parts = {tile.applies_mask,
                           tile.applies_mask && !mask.AllUnmasked(tile.first, tile.keys)};
  const auto columns = DivCeil(tile.keys, static_cast<int64_t>(kLanes)) * kLanes;
  for (int64_t row = 0; row < block.rows; ++row) {
    const ScoreModifiers modifiers = ModifiersOf(p, block, mask, row, tile.first, tile.keys, parts);
    if (!modifiers.ChangeNothing()) ModifyScores(modifiers, columns, scores + row * kKeyTile);
  }
}

// Turns the scores of all tiles into weights, tile after tile. Returns false if a row is masked.
inline bool WeighTiles(const FewQueriesHead& head) {
  const AttentionProblem& p = head.problem;
  const QueryBlock& block = head.block;
  const FloatTag d;
  float* const peaks = head.scratch + head.layout.peaks;
  float* const totals = head.scratch + head.layout.totals;
  std::fill_n(peaks, block.rows, kMinusInfinity);
  std::fill_n(totals, block.rows * kWidestVector, 0.0F);
  if (p.sinks.data != nullptr) InitializeFromSinks(p, block, {0, block.rows}, peaks, totals);
  for (int64_t tile = 0; tile < head.num_tiles; ++tile) {
    // Sums of 1 become the factor by which all sums shrink.
    float* const factors = head.Factors(tile);
    std::fill_n(factors, block.rows * kWidestVector, 1.0F);
    const auto columns = DivCeil(head.tiles[tile].keys, static_cast<int64_t>(kLanes)) * kLanes;
    UpdateSoftmax({static_cast<size_t>(block.rows), head.Scores(tile), static_cast<size_t>(columns),
                   peaks, totals, factors, kWidestVector});
  }
  bool masked = false;
  for (int64_t first = 0; first < block.rows; first += kLanes) {
    HWY_ALIGN float sums[kLanes];
    const FloatVec sum = ReduceRows(
        [&](size_t r) HWY_ATTR {
          const int64_t row = std::min(first + static_cast<int64_t>(r), block.rows - 1);
          return hn::LoadU(d, totals + row * kWidestVector);
        },
        [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); });
    hn::Store(sum, d, sums);
    hn::StoreU(hn::Div(hn::Set(d, 1.0F), sum), d, head.scratch + head.layout.reciprocals + first);
    for (int64_t r = 0; r < HWY_MIN(block.rows - first, static_cast<int64_t>(kLanes)); ++r) {
      masked = masked || IsMaskedRow(p, peaks[first + r], sums[r]);
    }
  }
  return !masked;
}

// Adds `count` keys, weighted, to the sums of kRows rows, kLargestFewQueriesHead per row.
template <size_t kRows>
HWY_NOINLINE void AddTile(const float* weights, const CacheRows& values, size_t count,
                          size_t channels, int64_t fetched, const float* factors, float* sums) {
  constexpr size_t kStride = kLargestFewQueriesHead;
  // As many sums as there are registers for.
  constexpr size_t kMost = kRows > 6 ? 3 : 4;
  constexpr size_t kAtOnce = kMost * kLanes;
  const FloatTag d;
  for (size_t r = 0; r < kRows; ++r) {
    const FloatVec factor = hn::LoadU(d, factors + r * kWidestVector);
    for (size_t i = 0; i < channels; i += kLanes) {
      float* const at = sums + r * kStride + i;
      hn::StoreU(hn::Mul(hn::LoadU(d, at), factor), d, at);
    }
  }
  size_t i = 0;
  const auto from = [&] { return CacheRows{values.data + i, values.stride, values.rows}; };
  for (; i + kAtOnce <= channels; i += kAtOnce) {
    AddWeightedValues<kRows, kMost>(weights, kKeyTile, from(), count, fetched, sums + i, kStride);
    fetched = 0;
  }
  for (; i < channels; i += kLanes) {
    AddWeightedValues<kRows, 1>(weights, kKeyTile, from(), count, fetched, sums + i, kStride);
    fetched = 0;
  }
}

// Sums the weighted values of some channels, and writes them to y.
inline void SumValues(const FewQueriesHead& head, IndexRange channels) {
  const AttentionProblem& p = head.problem;
  const QueryBlock& block = head.block;
  HWY_ALIGN float sums[kMostFewQueriesRows * kLargestFewQueriesHead];
  const auto sums_of = [&](int64_t row) { return sums + row * kLargestFewQueriesHead; };
  for (int64_t row = 0; row < block.rows; ++row) {
    std::fill_n(sums_of(row), channels.size(), 0.0F);
  }
  HWY_ALIGN float copy[kTileFloats];
  const CachePart v = {p.v, p.narrow.v, p.v_strides, p.value_size, channels};
  for (int64_t index = 0; index < head.num_tiles; ++index) {
    const NeededTile& tile = head.tiles[index];
    const CacheRows values = RowsOfTile(head, tile, v, copy);
    const int64_t at_once = RowsAtOnce(block.rows);
    for (int64_t row = 0; row < block.rows; row += at_once) {
      const auto function = FunctionFor(std::min(block.rows - row, at_once),
                                        [](auto count) { return &AddTile<count()>; });
      function(head.Scores(index) + row * kKeyTile, values, static_cast<size_t>(tile.keys),
               static_cast<size_t>(channels.size()), row == 0 ? channels.size() : 0,
               head.Factors(index) + row * kWidestVector, sums_of(row));
    }
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    float* const y = p.y + block.sample * p.y_strides.batch +
                     block.Query(row) * p.y_strides.sequence + block.Head(row) * p.y_strides.head;
    CopyFloats(sums_of(row), channels.size(), y + channels.begin,
               head.scratch[head.layout.reciprocals + row]);
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
