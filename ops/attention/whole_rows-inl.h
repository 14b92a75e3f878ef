// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_INL_H_
#undef ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_WHOLE_ROWS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/div_ceil.h"
#include "hwy/highway.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_mask-inl.h"
#include "ops/attention/attention_reduce-inl.h"
#include "ops/attention/attention_scheduler-inl.h"
#include "ops/attention/attention_softmax-inl.h"
#include "ops/attention/head_panels-inl.h"
#include "ops/attention/whole_rows_layout.h"
#include "ops/gemm/amx.h"
#include "ops/tensors/bf16-inl.h"
#include "ops/tensors/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Attention for blocks of queries of one head after the other.
//
// For 32 queries at a time: scores = q k^T for the keys that position leaves; scale, softcap, bias,
// mask and position modify them; peak = the greatest score of a row; weights = exp(score - peak),
// rounded to bf16 as tiles of the second product; y = weights v / (sum of the weights).
//
// Invariant on bits: as for TiledAttention. Weights of masked keys are exactly 0, and adding their
// products changes no sum, so that it does not matter which of them are computed.
class WholeRows {
 public:
  WholeRows(const AttentionProblem& problem, const MaskSummary& summary, uint8_t* scratch)
      : p_(problem),
        summary_(summary),
        layout_(problem),
        scratch_(scratch),
        head_(problem, layout_, scratch) {}

  void Attend(const QueryBlock& block) {
    head_.Pack(block);
    const BlockMask mask(p_, block, Floats(layout_.mask));
    const TileScheduler scheduler(p_, summary_, block, mask);
    const Block context = {block, mask, scheduler};
    for (int64_t row = 0; row < block.rows; row += kRows) {
      AttendRows(context, {row, std::min(row + kRows, block.rows)});
    }
  }

 private:
  static constexpr int64_t kRows = 2 * kAmxRows;

  struct Block {
    const QueryBlock& rows;
    const BlockMask& mask;
    const TileScheduler& scheduler;
  };

  float* Floats(int64_t offset) const { return reinterpret_cast<float*>(scratch_ + offset); }
  float* Scores(int64_t row) const { return Floats(layout_.scores) + row * layout_.score_stride; }
  float* Totals(int64_t row) const { return Floats(layout_.totals) + row * kWidestVector; }
  float* Sums(int64_t row) const { return Floats(layout_.sums) + row * layout_.value_stride; }
  float* Peaks() const { return Floats(layout_.peaks); }
  bool* AppliesMask() const { return reinterpret_cast<bool*>(scratch_ + layout_.applies_mask); }

  // Calls use(pointer) with a row of q.
  template <typename Use>
  void WithQuery(const QueryBlock& block, int64_t row, Use use) const {
    WithElement(p_.q, p_.bf16_q,
                OffsetOf(p_.q_strides, block.sample, block.Head(row), block.Query(row)), use);
  }

  IndexRange UnmaskedFor(const Block& block, int64_t row) const {
    return UnmaskedKeys(p_, block.rows.sample, block.rows.Query(row));
  }

  // Keys that are left out, though their scores are finite numbers.
  struct Skipped {
    bool any = false;
    // An upper bound on their bias.
    float max_bias = kMinusInfinity;
  };

  // The keys that are computed for some rows, from a multiple of kKeyTile to one of kAmxPanelWidth.
  // Keys with a score of -inf for all rows are left out; and if `skipped` is not null, those that
  // bias, mask or position mask by a finite number for all rows.
  IndexRange KeysOf(const Block& block, IndexRange rows, Skipped* skipped) const {
    const int64_t valid = block.scheduler.valid();
    IndexRange keys = {0, valid};
    const bool finite = p_.mask_value != kMinusInfinity;
    if (!finite || (skipped != nullptr && !p_.bias_on_masked)) {
      keys = {UnmaskedFor(block, rows.begin).begin, UnmaskedFor(block, rows.end - 1).end};
    }
    keys.begin = std::min(keys.begin, keys.end) / kKeyTile * kKeyTile;
    Skipped none;
    Skipped& found = skipped == nullptr ? none : *skipped;
    const auto is_masked = [&](int64_t first) {
      return IsMasked(block, rows, first, skipped != nullptr, found.max_bias);
    };
    while (keys.begin < keys.end && is_masked(keys.begin)) keys.begin += kKeyTile;
    while (keys.begin < keys.end && is_masked((keys.end - 1) / kKeyTile * kKeyTile)) {
      keys.end = (keys.end - 1) / kKeyTile * kKeyTile;
    }
    keys.end = std::max(DivCeil(keys.end, kAmxPanelWidth) * kAmxPanelWidth, keys.begin);
    found.any =
        (finite && (keys.begin > 0 || keys.end < valid)) || found.max_bias != kMinusInfinity;
    return keys;
  }

  void AttendRows(const Block& block, IndexRange rows) {
    Skipped skipped;
    IndexRange keys = KeysOf(block, rows, &skipped);
    PackQueries(block.rows, rows);
    float scale = ComputeScores(block, rows, keys);
    if (skipped.any && !AreZero(block.rows, rows, skipped)) {
      keys = KeysOf(block, rows, nullptr);
      scale = ComputeScores(block, rows, keys);
    }
    for (int64_t row = 0; row < rows.size(); ++row) ComputeWeights(row, keys, scale);
    MultiplyByValues(rows.size(), keys);
    StoreRows(block.rows, rows);
  }

  // Computes the scores and the peaks of some rows; returns the factor of the scores that is left.
  float ComputeScores(const Block& block, IndexRange rows, IndexRange keys) const {
    MultiplyByKeys(rows.size(), keys);
    const float scale = Modify(block, rows, keys) ? 1 : p_.scale;
    FindPeaks(block.rows, rows, keys, scale);
    return scale;
  }

  // True if the weights of keys that were left out are exactly 0 for all rows. |q k| is at most the
  // sum of q's magnitudes times the greatest magnitude in k.
  bool AreZero(const QueryBlock& block, IndexRange rows, const Skipped& skipped) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      float product = 0;
      if (skipped.max_bias != kMinusInfinity) {
        WithQuery(block, row, [&](auto* q) HWY_ATTR {
          product = std::abs(p_.scale) * SumOfMagnitudes(q, static_cast<size_t>(p_.head_size)) *
                    head_.GreatestKey();
        });
      }
      const float peak = Peaks()[row - rows.begin];
      if (MayContribute(p_, skipped.max_bias, product, peak, 0)) return false;
    }
    return true;
  }

  void PackQueries(const QueryBlock& block, IndexRange rows) const {
    for (int64_t row = rows.begin; row < rows.end;) {
      const int64_t at = row - rows.begin;
      uint8_t* const to = scratch_ + layout_.queries + at / kAmxRows * layout_.QueryBlock() +
                          at % kAmxRows * kAmxStepBytes;
      // Rows that share a head of keys alternate between heads of queries.
      const int64_t count = block.group > 1 ? 1 : std::min(kAmxRows, rows.end - row);
      WithQuery(block, row, [&](auto* queries) {
        PackBf16Block(queries, p_.q_strides.sequence, count, p_.head_size, to);
      });
      row += count;
    }
  }

  void MultiplyByKeys(int64_t rows, IndexRange keys) const {
    AmxProduct product = {};
    product.a = scratch_ + layout_.queries;
    product.a_stride = layout_.QueryBlock();
    product.blocks = rows > kAmxRows ? 2 : 1;
    product.steps = layout_.head_steps;
    product.ldc = layout_.score_stride;
    for (int64_t key = keys.begin; key < keys.end; key += kAmxPanelWidth) {
      product.b = head_.Keys(key);
      product.sums = Scores(0) + key - keys.begin;
      MultiplyTiles(AmxType::kBf16, product);
    }
  }

  // Scales and modifies the scores, if there is more to do than to scale them.
  bool Modify(const Block& block, IndexRange rows, IndexRange keys) const {
    if (!HasModifiers(block, rows, keys)) {
      const int64_t valid = block.scheduler.valid();
      for (int64_t row = 0; valid < keys.end && row < rows.size(); ++row) {
        std::fill(Scores(row) + valid - keys.begin, Scores(row) + keys.size(), kMinusInfinity);
      }
      return false;
    }
    for (int64_t first = keys.begin; first < keys.end; first += kKeyTile) {
      ModifyTile(block, rows, first, std::min(kKeyTile, keys.end - first),
                 Scores(0) + first - keys.begin);
    }
    return true;
  }

  // Sets AppliesMask for the tiles of these keys.
  bool HasModifiers(const Block& block, IndexRange rows, IndexRange keys) const {
    bool applies_mask = false;
    for (int64_t first = keys.begin; first < keys.end; first += kKeyTile) {
      applies_mask |= AppliesMask()[first / kKeyTile] = ChangesScores(block, rows, first);
    }
    // A factor that turns the order around, or NaN, is no factor for a peak.
    const bool only_scales = !applies_mask && p_.softcap <= 0 && p_.scale > 0;
    return !only_scales || UnmaskedFor(block, rows.end - 1).begin > keys.begin ||
           UnmaskedFor(block, rows.begin).end < std::min(keys.end, block.scheduler.valid());
  }

  // True if bias and mask set the scores of a tile to -inf for all of these rows, or, if `finite`,
  // to numbers below that; then raises `max_bias` to a bound of theirs.
  bool IsMasked(const Block& block, IndexRange rows, int64_t first, bool finite,
                float& max_bias) const {
    if (p_.bias_on_masked || (!finite && p_.mask_value != kMinusInfinity)) return false;
    const TileSummary summary = SummarizeTile(summary_, block.rows, rows, first);
    const bool masked = summary.rows.begin >= summary.rows.end &&
                        (finite || summary.max_masked_bias == kMinusInfinity);
    if (masked) max_bias = std::max(max_bias, summary.max_masked_bias);
    return masked;
  }

  // True if bias or mask change a score of a tile for one of these rows.
  bool ChangesScores(const Block& block, IndexRange rows, int64_t first) const {
    if (p_.bias_on_masked) return true;
    const TileSummary summary = SummarizeTile(summary_, block.rows, rows, first);
    return !summary.no_effect || summary.rows.begin != rows.begin || summary.rows.end != rows.end;
  }

  void ModifyTile(const Block& block, IndexRange rows, int64_t first, int64_t columns,
                  float* scores) const {
    const int64_t count = block.scheduler.KeysFrom(first);
    const bool applies_mask = AppliesMask()[first / kKeyTile];
    const bool same = block.scheduler.SameModifiers(applies_mask);
    const MaskParts parts = {applies_mask, applies_mask && !block.mask.AllUnmasked(first, count)};
    ScoreModifiers modifiers;
    for (int64_t row = rows.begin; row < rows.end; ++row, scores += layout_.score_stride) {
      if (!same || row == rows.begin) {
        modifiers = ModifiersOf(p_, block.rows, block.mask, row, first, count, parts);
        modifiers.scale = p_.scale;
      }
      ModifyScores(modifiers, columns, scores);
    }
  }

  // Sets the peaks of the rows, and the totals to those of the sinks.
  void FindPeaks(const QueryBlock& block, IndexRange rows, IndexRange keys, float scale) const {
    const FloatTag d;
    const auto columns = static_cast<size_t>(keys.size());
    const int64_t count = rows.size();
    for (int64_t first = 0; first < count; first += kAmxRows) {
      FloatVec greatest = hn::Set(d, kMinusInfinity);
      if (columns > 0) {
        greatest = ReduceRows(
            [&](size_t r) HWY_ATTR {
              const int64_t row = std::min(first + static_cast<int64_t>(r), count - 1);
              return GreatestLanes(Scores(row), columns);
            },
            [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Max(a, b); });
      }
      hn::Store(hn::Mul(greatest, hn::Set(d, scale)), d, Peaks() + first);
    }
    for (int64_t row = 0; row < count; ++row) {
      std::fill_n(Totals(row), kWidestVector, 0.0F);
      if (p_.sinks.data == nullptr) continue;
      const float sink = SinkOf(p_, block, rows.begin + row);
      Peaks()[row] = std::max(Peaks()[row], sink);
      if (sink != kMinusInfinity) Totals(row)[0] = std::exp(sink - Peaks()[row]);
    }
  }

  // weights = exp(scale * score - peak), rounded; the total is of weights before rounding.
  void ComputeWeights(int64_t row, IndexRange keys, float scale) const {
    constexpr float kLog2E = 1.44269504F;
    constexpr float kHuge = 1e38F;
    const FloatTag d;
    const float peak = Peaks()[row] == kMinusInfinity ? 0 : Peaks()[row];
    if (std::fabs(peak) > kHuge) {
      // Times kLog2E, it may be infinite.
      return WriteWeights(row, keys, [&](FloatVec score) HWY_ATTR {
        const FloatVec x = hn::MulSub(score, hn::Set(d, scale), hn::Set(d, peak));
        return hn::Mul(x, hn::Set(d, kLog2E));
      });
    }
    const FloatVec factor = hn::Set(d, scale * kLog2E);
    const FloatVec shift = hn::Set(d, peak * kLog2E);
    WriteWeights(row, keys,
                 [&](FloatVec score) HWY_ATTR { return hn::MulSub(score, factor, shift); });
  }

  // Weights of 2^exponent(score).
  template <typename Exponent>
  HWY_INLINE void WriteWeights(int64_t row, IndexRange keys, Exponent exponent) const {
    const FloatTag d;
    const float* HWY_RESTRICT scores = Scores(row);
    uint8_t* to = scratch_ + layout_.weights + row / kAmxRows * layout_.WeightBlock() +
                  row % kAmxRows * kAmxStepBytes;
    FloatVec low_total = hn::LoadU(d, Totals(row));
    FloatVec high_total = hn::Zero(d);
    for (int64_t key = keys.begin; key < keys.end; key += kAmxPanelWidth) {
      const FloatVec low = RoughExp2(exponent(hn::LoadU(d, scores)));
      const FloatVec high = RoughExp2(exponent(hn::LoadU(d, scores + kLanes)));
      low_total = hn::Add(low_total, low);
      high_total = hn::Add(high_total, high);
      hn::StoreU(RoundedOnAmx(low, high), hn::ScalableTag<uint16_t>(),
                 reinterpret_cast<uint16_t*>(to));
      scores += kAmxPanelWidth;
      to += kAmxTileBytes;
    }
    hn::StoreU(hn::Add(low_total, high_total), d, Totals(row));
  }

  void MultiplyByValues(int64_t rows, IndexRange keys) const {
    AmxProduct product = {};
    product.a = scratch_ + layout_.weights;
    product.a_stride = layout_.WeightBlock();
    product.blocks = rows > kAmxRows ? 2 : 1;
    product.steps = keys.size() / kAmxBf16Step;
    product.ldc = layout_.value_stride;
    for (int64_t column = 0; column < p_.value_size; column += kAmxPanelWidth) {
      product.b = head_.Values(column, keys.begin);
      product.sums = Sums(0) + column;
      MultiplyTiles(AmxType::kBf16, product);
    }
  }

  void StoreRows(const QueryBlock& block, IndexRange rows) const {
    const FloatTag d;
    HWY_ALIGN float totals[kAmxRows];
    for (int64_t first = 0; first < rows.size(); first += kAmxRows) {
      const int64_t count = std::min(kAmxRows, rows.size() - first);
      const FloatVec sum = ReduceRows(
          [&](size_t r) HWY_ATTR {
            return hn::LoadU(d, Totals(first + std::min(static_cast<int64_t>(r), count - 1)));
          },
          [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); });
      hn::Store(sum, d, totals);
      for (int64_t r = 0; r < count; ++r) {
        const bool masked = IsMaskedRow(p_, Peaks()[first + r], totals[r]);
        if (masked) FillMaskedRow(std::isnan(totals[r]), Sums(first + r));
        StoreRow(block, rows.begin + first + r, Sums(first + r), masked ? 1 : 1 / totals[r]);
      }
    }
  }

  // As TiledAttention::MaskedRow.
  void FillMaskedRow(bool is_nan, float* row) const {
    std::fill_n(row, p_.value_size, p_.masked_row);
    if (!is_nan) return;
    for (int64_t t = 0; t < ValidKeys(p_, head_.sample()); ++t) {
      head_.WithValue(t, [&](auto* values) {
        for (int64_t h = 0; h < p_.value_size; ++h) row[h] += 0 * AsFloat(values[h]);
      });
    }
  }
  static float AsFloat(float x) { return x; }
  static float AsFloat(uint16_t bf16) {
    return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
  }

  void StoreRow(const QueryBlock& block, int64_t row, const float* sums, float factor) const {
    const int64_t at = OffsetOf(p_.y_strides, block.sample, block.Head(row), block.Query(row));
    if (p_.bf16_y == nullptr) return CopyFloats(sums, p_.value_size, p_.y + at, factor);
    const FloatTag d;
    const auto size = static_cast<size_t>(p_.value_size);
    for (size_t i = 0; i < size; i += kLanes) {
      const FloatVec y = hn::Mul(hn::LoadU(d, sums + i), hn::Set(d, factor));
      StoreBf16ForAmx(y, p_.bf16_y + at + i, size - i);
    }
  }

  const AttentionProblem& p_;
  const MaskSummary& summary_;
  const WholeRowsLayout layout_;
  uint8_t* const scratch_;
  HeadPanels head_;
};

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
