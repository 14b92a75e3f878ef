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
#include "ops/attention/attention_tile-inl.h"
#include "ops/softmax/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// What stands between the scores of one row and one tile and their softmax.
struct ScoreRules {
  float softcap = 0;
  float closed_score = kMinusInfinity;
  // kKeyTile numbers each, or null.
  const uint8_t* open = nullptr;
  const float* bias = nullptr;
  // Keys of the tile open by position: [begin, end); keys from `valid` on are not there.
  int begin = 0;
  int end = static_cast<int>(kKeyTile);
  int valid = static_cast<int>(kKeyTile);
};

// The running softmax of the rows of a tile, one after the other.
struct SoftmaxRows {
  size_t rows;
  // kKeyTile each.
  float* scores;
  // The greatest score.
  float* peaks;
  // kWidestVector each: sums of exp(score - peak).
  float* totals;
  // sums_size each: sums of the values, so weighted.
  float* sums;
  size_t sums_size;
};

HWY_INLINE FloatVec RuledScore(const ScoreRules& rules, FloatVec score, size_t i) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  if (rules.softcap > 0) {
    const FloatVec cap = hn::Set(d, rules.softcap);
    score = hn::Mul(cap, hn::Tanh(d, hn::Div(score, cap)));
  }
  const FloatVec closed = hn::Set(d, rules.closed_score);
  if (rules.bias != nullptr) score = hn::Add(score, hn::LoadU(d, rules.bias + i));
  if (rules.open != nullptr) {
    const hn::Rebind<uint8_t, FloatTag> d8;
    const auto bytes = hn::PromoteTo(di, hn::LoadU(d8, rules.open + i));
    score = hn::IfThenElse(hn::RebindMask(d, hn::Eq(bytes, hn::Zero(di))), closed, score);
  }
  if (rules.begin > 0 || rules.end < static_cast<int>(kKeyTile)) {
    const auto index = hn::Iota(di, static_cast<int>(i));
    const auto shut =
        hn::Or(hn::Lt(index, hn::Set(di, rules.begin)), hn::Ge(index, hn::Set(di, rules.end)));
    score = hn::IfThenElse(hn::RebindMask(d, shut), closed, score);
    const auto absent = hn::Ge(index, hn::Set(di, rules.valid));
    score = hn::IfThenElse(hn::RebindMask(d, absent), hn::Set(d, kMinusInfinity), score);
  }
  return score;
}

// Applies the rules to one row of scores.
inline HWY_NOINLINE void ApplyRules(const ScoreRules& rules, float* HWY_RESTRICT scores) {
  const FloatTag d;
  for (size_t i = 0; i < kKeyTile; i += kLanes) {
    hn::StoreU(RuledScore(rules, hn::LoadU(d, scores + i), i), d, scores + i);
  }
}

// Raises a row's peak and scales what was summed up relative to the old one.
inline HWY_NOINLINE void RaisePeak(float peak, const SoftmaxRows& all, size_t row) {
  const FloatTag d;
  const float before = all.peaks[row];
  all.peaks[row] = peak;
  // Nothing was summed up yet.
  if (before == kMinusInfinity) return;
  const FloatVec factor = ExpOfNonPositive(d, hn::Set(d, before - peak));
  float* totals = all.totals + row * kWidestVector;
  hn::StoreU(hn::Mul(hn::LoadU(d, totals), factor), d, totals);
  float* sums = all.sums + row * all.sums_size;
  for (size_t i = 0; i < all.sums_size; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, sums + i), factor), d, sums + i);
  }
}

// Turns the scores of a tile into weights, exp(score - peak), and takes them into the totals. A
// tile that is closed to a row leaves it as it was.
inline HWY_NOINLINE void TakeScores(const SoftmaxRows& all) {
  const FloatTag d;
  for (size_t row = 0; row < all.rows; ++row) {
    const float* HWY_RESTRICT scores = all.scores + row * kKeyTile;
    FloatVec peaks = hn::LoadU(d, scores);
    for (size_t i = kLanes; i < kKeyTile; i += kLanes) {
      peaks = hn::Max(peaks, hn::LoadU(d, scores + i));
    }
    const float peak = hn::ReduceMax(d, peaks);
    if (peak > all.peaks[row]) RaisePeak(peak, all, row);
  }
  for (size_t row = 0; row < all.rows; ++row) {
    // Without an open key so far, every weight is exp(-inf) = 0.
    const float peak = all.peaks[row];
    const FloatVec shift = hn::Set(d, peak == kMinusInfinity ? 0.0F : peak);
    float* HWY_RESTRICT scores = all.scores + row * kKeyTile;
    float* HWY_RESTRICT totals = all.totals + row * kWidestVector;
    FloatVec total = hn::LoadU(d, totals);
    for (size_t i = 0; i < kKeyTile; i += kLanes) {
      const FloatVec weight = ExpOfNonPositive(d, hn::Sub(hn::LoadU(d, scores + i), shift));
      total = hn::Add(total, weight);
      hn::StoreU(weight, d, scores + i);
    }
    hn::StoreU(total, d, totals);
  }
}

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
