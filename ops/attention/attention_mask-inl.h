// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_ATTENTION_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_ATTENTION_MASK_INL_H_
#undef ATTNRUN_OPS_ATTENTION_ATTENTION_MASK_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_ATTENTION_MASK_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "ops/attention/attention_block.h"
#include "ops/attention/attention_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A bias below this masks a key for all practical purposes; TiledAttention::RowsToRecompute checks
// that it does.
inline constexpr float kPracticallyMasked = -1000.0F;

// The values of a MaskSummary: kNoEffect if bias and mask change no score of the row in the tile,
// kMayBeUnmasked if a key may be unmasked as far as is known, and otherwise an upper bound on the
// bias of the keys that the mask leaves unmasked, -inf if it leaves none.
inline constexpr float kNoEffect = 0;
inline constexpr float kMayBeUnmasked = std::numeric_limits<float>::infinity();

// The MaskSummary of one tile, for all rows of a block.
struct TileSummary {
  // The range from the first to the last row for which the tile is not masked.
  IndexRange rows;
  // True if bias and mask change no score of these rows.
  bool no_effect = true;
  // The greatest value of the other rows, for which the tile seems to be masked.
  float max_masked_bias = kMinusInfinity;
};

inline TileSummary SummarizeTile(const MaskSummary& summary, const QueryBlock& block,
                                 IndexRange rows, int64_t first) {
  TileSummary all{rows, true, kMinusInfinity};
  if (summary.data == nullptr) return all;
  const auto value = [&](int64_t row) {
    return summary.data[block.sample * summary.batch + block.Head(row) * summary.head +
                        block.Query(row) * summary.query + first / kKeyTile];
  };
  const auto is_masked = [&](int64_t row) {
    const float number = value(row);
    if (number == kNoEffect || number == kMayBeUnmasked) return false;
    all.max_masked_bias = std::max(all.max_masked_bias, number);
    return true;
  };
  // Rows that share their bias and mask have equal values.
  const bool same = block.RowsShare(summary.query, summary.head);
  if (same) rows.end = std::min(rows.end, rows.begin + 1);
  while (rows.begin < rows.end && is_masked(rows.begin)) ++rows.begin;
  while (rows.begin < rows.end && is_masked(rows.end - 1)) --rows.end;
  for (int64_t row = rows.begin; all.no_effect && row < rows.end; ++row) {
    all.no_effect = value(row) == kNoEffect;
  }
  if (!same || rows.begin == rows.end) all.rows = rows;
  return all;
}

// Sum of |x[i]|, i < n, in any order. T: float, or uint16_t for bf16.
template <typename T>
float SumOfMagnitudes(const T* x, size_t n) {
  const FloatTag d;
  FloatVec sum = hn::Zero(d);
  for (size_t i = 0; i < n; i += kLanes) {
    sum = hn::Add(sum, hn::Abs(LoadUpTo(x + i, n - i)));
  }
  return hn::ReduceSum(d, sum);
}

// The greatest of `least` and |x[i]|, i < n; NaN if one of them is. T: as above.
template <typename T>
float GreatestMagnitude(const T* x, size_t n, float least) {
  const FloatTag d;
  FloatVec greatest = hn::Set(d, least);
  for (size_t i = 0; i < n; i += kLanes) {
    const FloatVec v = hn::Abs(LoadUpTo(x + i, n - i));
    // Comparisons with NaN are false: it is taken, and stays.
    const auto stays = hn::Or(hn::IsNaN(greatest), hn::Le(v, greatest));
    greatest = hn::IfThenElse(stays, greatest, v);
  }
  if (!hn::AllFalse(d, hn::IsNaN(greatest))) return std::numeric_limits<float>::quiet_NaN();
  return hn::ReduceMax(d, greatest);
}

// True if scores that were left out may have a weight other than 0 in a row with this peak, which
// may be too high by `slack`. `max_bias` and `max_product` are upper bounds of their bias and of
// |scale * q k|; if the mask alone sets them, the bias is -inf and the product is 0.
inline bool MayContribute(const AttentionProblem& p, float max_bias, float max_product, float peak,
                          float slack) {
  // The factor 2 covers rounding.
  const float highest = std::max(max_bias + 2 * max_product, p.mask_value);
  // ExpBelow88 is 0 below -88. True for NaN, which std::max keeps as its first argument.
  return !(highest - peak < -88 - slack);
}

// Reads bias and mask for the rows of one block.
class BlockMask {
 public:
  // `buffer`: kMaskScratch floats.
  BlockMask(const AttentionProblem& problem, const QueryBlock& block, float* buffer)
      : bias_(problem.bias),
        mask_(problem.mask),
        block_(block),
        bias_buffer_(buffer),
        mask_buffer_(reinterpret_cast<uint8_t*>(buffer + kKeyTile)) {}

  // True if all rows of the block share bias and mask.
  bool SameForAllRows() const { return IsShared(bias_) && IsShared(mask_); }

  // The row's bias from key `first` on if each row has its own, in adjacent floats, bias.query
  // apart; else null.
  const float* OwnBias(int64_t row, int64_t first) const {
    const bool own = bias_.data != nullptr && block_.group == 1 && bias_.query != 0;
    return own && bias_.key == 1 ? At(bias_, bias_.data, row, first) : nullptr;
  }

  // How many of `count` keys from `first` on precede the last unmasked one, itself included; at
  // least 1. All of them if the mask differs between rows.
  int64_t CountToLastUnmasked(int64_t first, int64_t count) const {
    if (mask_.data == nullptr || !IsShared(mask_)) return count;
    const bool* unmasked = At(mask_, mask_.data, 0, first);
    while (count > 1 && !unmasked[(count - 1) * mask_.key]) --count;
    return count;
  }

  // True if the mask leaves the whole tile from `first` on, which holds `count` keys, unmasked for
  // all rows. False also where the mask differs between rows.
  bool AllUnmasked(int64_t first, int64_t count) const {
    if (mask_.data == nullptr) return true;
    return IsShared(mask_) && CountUnmasked(LoadMask(0, first, count)) == kKeyTile;
  }

  // Sets bias and mask of `modifiers` to a row's kKeyTile elements from key `first` on, of which
  // `count` exist. The mask only if `uses_mask`: it is not needed where AllUnmasked. Valid until
  // the next call.
  void Load(int64_t row, int64_t first, int64_t count, bool uses_mask,
            ScoreModifiers& modifiers) const {
    modifiers.bias = LoadBias(row, first, count);
    modifiers.unmasked = uses_mask ? LoadMask(row, first, count) : nullptr;
  }

  // The value of one row and tile in a MaskSummary.
  float Summarize(int64_t row, int64_t first, int64_t count) const {
    const uint8_t* unmasked = LoadMask(row, first, count);
    if (unmasked != nullptr && unmasked[0] == 0 && CountUnmasked(unmasked) == 0) {
      return kMinusInfinity;
    }
    // Usually the first numbers of the bias decide.
    if (bias_.data != nullptr) {
      const float* bias = LoadBias(row, first, count);
      const float highest = HighestIfMasked(bias);
      if (highest != kMayBeUnmasked) return highest;
      if (!IsZero(bias)) return kMayBeUnmasked;
    }
    return unmasked == nullptr || CountUnmasked(unmasked) == kKeyTile ? kNoEffect : kMayBeUnmasked;
  }

 private:
  template <typename T>
  bool IsShared(const ScoreOperand<T>& operand) const {
    return operand.data == nullptr || block_.RowsShare(operand.query, operand.head);
  }

  const float* LoadBias(int64_t row, int64_t first, int64_t count) const {
    if (bias_.data == nullptr) return nullptr;
    return Run(At(bias_, bias_.data, row, first), bias_.key, count, bias_buffer_, kMinusInfinity);
  }
  const uint8_t* LoadMask(int64_t row, int64_t first, int64_t count) const {
    if (mask_.data == nullptr) return nullptr;
    return Run(At(mask_, reinterpret_cast<const uint8_t*>(mask_.data), row, first), mask_.key,
               count, mask_buffer_, uint8_t{0});
  }

  template <typename T, typename U>
  const U* At(const ScoreOperand<T>& operand, const U* data, int64_t row, int64_t first) const {
    return data + block_.sample * operand.batch + block_.Head(row) * operand.head +
           block_.Query(row) * operand.query + first * operand.key;
  }

  // `data` itself if it is a dense tile, else a copy padded with `rest`.
  template <typename T>
  static const T* Run(const T* data, int64_t stride, int64_t count, T* buffer, T rest) {
    if (stride == 1 && count == kKeyTile) return data;
    for (int64_t i = 0; i < count; ++i) buffer[i] = data[i * stride];
    std::fill(buffer + count, buffer + kKeyTile, rest);
    return buffer;
  }

  static int CountUnmasked(const uint8_t* unmasked) {
    int count = 0;
    for (int64_t i = 0; i < kKeyTile; ++i) count += unmasked[i] != 0 ? 1 : 0;
    return count;
  }

  // The greatest number if all are below kPracticallyMasked, else kMayBeUnmasked.
  static float HighestIfMasked(const float* bias) {
    const FloatTag d;
    const FloatVec practically_masked = hn::Set(d, kPracticallyMasked);
    FloatVec highest = hn::Set(d, kMinusInfinity);
    for (size_t i = 0; i < kKeyTile; i += kLanes) {
      const FloatVec v = hn::LoadU(d, bias + i);
      // NaN compares false: it may be unmasked.
      if (!hn::AllTrue(d, hn::Lt(v, practically_masked))) return kMayBeUnmasked;
      highest = hn::Max(highest, v);
    }
    return hn::ReduceMax(d, highest);
  }

  static bool IsZero(const float* bias) {
    const FloatTag d;
    for (size_t i = 0; i < kKeyTile; i += kLanes) {
      if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, bias + i), hn::Zero(d)))) return false;
    }
    return true;
  }

  const ScoreOperand<float>& bias_;
  const ScoreOperand<bool>& mask_;
  const QueryBlock& block_;
  float* const bias_buffer_;
  uint8_t* const mask_buffer_;
};

// Which of bias and mask change scores of a tile.
struct MaskParts {
  bool any = false;
  // True if the mask does.
  bool uses_mask = false;
};

// The modifiers of one row's scores for the `count` keys from `first` on.
inline ScoreModifiers ModifiersOf(const AttentionProblem& p, const QueryBlock& block,
                                  const BlockMask& mask, int64_t row, int64_t first, int64_t count,
                                  MaskParts parts) {
  ScoreModifiers modifiers;
  modifiers.softcap = p.softcap;
  modifiers.mask_value = p.mask_value;
  modifiers.bias_on_masked = p.bias_on_masked;
  modifiers.valid = static_cast<int>(std::min(kKeyTile, ValidKeys(p, block.sample) - first));
  const IndexRange unmasked = UnmaskedKeys(p, block.sample, block.Query(row));
  modifiers.begin = static_cast<int>(std::clamp<int64_t>(unmasked.begin - first, 0, kKeyTile));
  modifiers.end = static_cast<int>(std::clamp<int64_t>(unmasked.end - first, 0, kKeyTile));
  if (parts.any) mask.Load(row, first, count, parts.uses_mask, modifiers);
  return modifiers;
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
