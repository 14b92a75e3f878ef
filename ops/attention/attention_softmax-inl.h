// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_ATTENTION_SOFTMAX_INL_H_
#undef ATTNRUN_OPS_ATTENTION_ATTENTION_SOFTMAX_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_ATTENTION_SOFTMAX_INL_H_
#endif

#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_reduce-inl.h"
#include "ops/attention/attention_tile-inl.h"
#include "ops/tensors/exp-inl.h"
#include "ops/tensors/store_up_to-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// By how much a score may exceed its row's peak before the peak is raised and the row's sums are
// rescaled. Weights up to exp(8) are as exact as those up to 1, and most rows are rescaled once.
inline constexpr float kSlack = 8;

// Changes to the scores of one row and tile between q k^T and softmax: scale, softcap, bias, mask
// and position.
struct ScoreModifiers {
  bool ChangeNothing() const {
    return scale == 1 && softcap == 0 && unmasked == nullptr && bias == nullptr && begin <= 0 &&
           end >= static_cast<int>(kKeyTile);
  }

  // 1 if the keys are scaled.
  float scale = 1;
  float softcap = 0;
  float mask_value = kMinusInfinity;
  bool bias_on_masked = false;
  // The row's mask, 0 where a key is masked, and bias: kKeyTile elements each, or null.
  const uint8_t* unmasked = nullptr;
  const float* bias = nullptr;
  // Position leaves keys [begin, end) of the tile unmasked; keys from `valid` on do not exist.
  int begin = 0;
  int end = static_cast<int>(kKeyTile);
  int valid = static_cast<int>(kKeyTile);
};

// The online softmax of the rows of a tile, row after row.
struct SoftmaxRows {
  size_t rows;
  // kKeyTile per row, of which the first `columns` are used: whole vectors.
  float* scores;
  size_t columns;
  // The running maximum of the scores, which may lag behind by kSlack.
  float* peaks;
  // kWidestVector per row: sums of exp(score - peak), lane by lane.
  float* totals;
  // sums_size per row: sums of the values weighted by exp(score - peak).
  float* sums;
  size_t sums_size;
};

HWY_INLINE FloatVec ModifiedScore(const ScoreModifiers& modifiers, FloatVec score, size_t i) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  if (modifiers.scale != 1) score = hn::Mul(score, hn::Set(d, modifiers.scale));
  if (modifiers.softcap > 0) {
    const FloatVec cap = hn::Set(d, modifiers.softcap);
    score = hn::Mul(cap, hn::Tanh(d, hn::Div(score, cap)));
  }
  FloatVec masked_score = hn::Set(d, modifiers.mask_value);
  if (modifiers.bias != nullptr) {
    const FloatVec bias = hn::LoadU(d, modifiers.bias + i);
    score = hn::Add(score, bias);
    if (modifiers.bias_on_masked) masked_score = hn::Add(masked_score, bias);
  }
  if (modifiers.unmasked != nullptr) {
    const hn::Rebind<uint8_t, FloatTag> d8;
    const auto bytes = hn::PromoteTo(di, hn::LoadU(d8, modifiers.unmasked + i));
    score = hn::IfThenElse(hn::RebindMask(d, hn::Eq(bytes, hn::Zero(di))), masked_score, score);
  }
  if (modifiers.begin > 0 || modifiers.end < static_cast<int>(kKeyTile)) {
    const auto index = hn::Iota(di, static_cast<int>(i));
    const auto out_of_range = hn::Or(hn::Lt(index, hn::Set(di, modifiers.begin)),
                                     hn::Ge(index, hn::Set(di, modifiers.end)));
    score = hn::IfThenElse(hn::RebindMask(d, out_of_range), masked_score, score);
    const auto absent = hn::Ge(index, hn::Set(di, modifiers.valid));
    score = hn::IfThenElse(hn::RebindMask(d, absent), hn::Set(d, kMinusInfinity), score);
  }
  return score;
}

// Modifies one row of scores.
inline HWY_NOINLINE void ModifyScores(const ScoreModifiers& modifiers, size_t columns,
                                      float* HWY_RESTRICT scores) {
  const FloatTag d;
  for (size_t i = 0; i < columns; i += kLanes) {
    hn::StoreU(ModifiedScore(modifiers, hn::LoadU(d, scores + i), i), d, scores + i);
  }
}

// Rescales the totals and sums of a row whose peak has risen.
HWY_INLINE void Rescale(const SoftmaxRows& all, size_t row, float by) {
  const FloatTag d;
  const FloatVec factor = hn::Set(d, by);
  float* totals = all.totals + row * kWidestVector;
  hn::StoreU(hn::Mul(hn::LoadU(d, totals), factor), d, totals);
  float* sums = all.sums + row * all.sums_size;
  for (size_t i = 0; i < all.sums_size; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, sums + i), factor), d, sums + i);
  }
}

// The maximum of each lane over a row of scores.
HWY_INLINE FloatVec GreatestLanes(const float* HWY_RESTRICT scores, size_t columns) {
  const FloatTag d;
  FloatVec greatest = hn::LoadU(d, scores);
  for (size_t i = kLanes; i < columns; i += kLanes) {
    greatest = hn::Max(greatest, hn::LoadU(d, scores + i));
  }
  return greatest;
}

// The greatest score of each of the rows first ... first + kLanes - 1; beyond the end, of the last
// row.
HWY_INLINE FloatVec GreatestOfRows(const SoftmaxRows& all, size_t first) {
  return ReduceRows(
      [&](size_t r) HWY_ATTR {
        return GreatestLanes(all.scores + HWY_MIN(first + r, all.rows - 1) * kKeyTile, all.columns);
      },
      [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Max(a, b); });
}

// Turns the scores of a row into weights exp(score - shift) and adds them to `totals`.
HWY_INLINE void ExponentiateRow(float shift, size_t columns, float* HWY_RESTRICT scores,
                                float* HWY_RESTRICT totals) {
  const FloatTag d;
  const FloatVec least = hn::Set(d, shift);
  FloatVec total = hn::LoadU(d, totals);
  for (size_t i = 0; i < columns; i += kLanes) {
    const FloatVec weight = ExpBelow88(d, hn::Sub(hn::LoadU(d, scores + i), least));
    total = hn::Add(total, weight);
    hn::StoreU(weight, d, scores + i);
  }
  hn::StoreU(total, d, totals);
}

// UpdateSoftmax for rows [first, first + count), at most as many as a vector has lanes: computes
// the peaks and factors of all of them at once.
HWY_INLINE void UpdateSoftmaxOfRows(const SoftmaxRows& all, size_t first, size_t count) {
  const FloatTag d;
  HWY_ALIGN float numbers[kLanes] = {};
  const FloatVec greatest = GreatestOfRows(all, first);
  const FloatVec before = hn::LoadN(d, all.peaks + first, count);
  const FloatVec lowest = hn::Set(d, kMinusInfinity);
  const auto rises = hn::Gt(greatest, hn::Add(before, hn::Set(d, kSlack)));
  const FloatVec peaks = hn::IfThenElse(rises, greatest, before);
  StoreUpTo(peaks, d, all.peaks + first, count);
  // A row without a peak has no sums to rescale.
  const auto rescales = hn::And(rises, hn::Gt(before, lowest));
  if (!hn::AllFalse(d, rescales)) {
    const FloatVec factors =
        hn::IfThenElse(rescales, ExpBelow88(d, hn::Sub(before, peaks)), hn::Set(d, 1.0F));
    hn::Store(factors, d, numbers);
    for (size_t r = 0; r < count; ++r) {
      if (numbers[r] != 1) Rescale(all, first + r, numbers[r]);
    }
  }
  // Where all keys so far are masked, every weight is exp(-inf) = 0.
  hn::Store(hn::IfThenZeroElse(hn::Eq(peaks, lowest), peaks), d, numbers);
  for (size_t r = 0; r < count; ++r) {
    ExponentiateRow(numbers[r], all.columns, all.scores + (first + r) * kKeyTile,
                    all.totals + (first + r) * kWidestVector);
  }
}

// Adds a tile to the online softmax: turns scores into weights exp(score - peak) and adds them to
// the totals. A row for which the tile is masked stays as it was.
inline HWY_NOINLINE void UpdateSoftmax(const SoftmaxRows& all) {
  for (size_t first = 0; first < all.rows; first += kLanes) {
    UpdateSoftmaxOfRows(all, first, HWY_MIN(all.rows - first, kLanes));
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
