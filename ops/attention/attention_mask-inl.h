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
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a mask says of one tile.
struct MaskFacts {
  // Some key is open to some row, or may be for all that is known.
  bool open = false;
  // The mask changes no score.
  bool trivial = true;
  // No less than any number of a float mask, if not open.
  float highest = kMinusInfinity;
};

// A float mask's numbers below this close a key for all practical purposes; that they do is checked
// before it is relied on.
inline constexpr float kPracticallyClosed = -1000.0F;

// The mask as the rows of one block see it.
class BlockMask {
 public:
  // `buffer`: kKeyTile floats.
  BlockMask(const AttentionMask& mask, const AttentionBlock& block, float* buffer)
      : mask_(mask), block_(block), buffer_(buffer) {}

  // One row's kKeyTile numbers from key `first` on, of which there are `count`; bias or open of
  // `rules`, by the kind of mask. Valid until the next call.
  void Load(int64_t row, int64_t first, int64_t count, ScoreRules& rules) const {
    const int64_t at = block_.sample * mask_.batch + block_.Head(row) * mask_.head +
                       block_.Query(row) * mask_.query + first * mask_.key;
    if (mask_.kind == AttentionMask::Kind::kBool) {
      rules.open = Run(static_cast<const uint8_t*>(mask_.data) + at, count,
                       reinterpret_cast<uint8_t*>(buffer_), uint8_t{0});
    } else if (mask_.kind == AttentionMask::Kind::kFloat) {
      rules.bias = Run(static_cast<const float*>(mask_.data) + at, count, buffer_, kMinusInfinity);
    }
  }

  MaskFacts Facts(IndexRange rows, int64_t first, int64_t count) const {
    MaskFacts facts;
    if (mask_.kind == AttentionMask::Kind::kNone) {
      facts.open = true;
      return facts;
    }
    // Rows that share their part of the mask say the same.
    const bool same = mask_.query == 0 && (mask_.head == 0 || block_.group == 1);
    if (same) rows.end = std::min(rows.end, rows.begin + 1);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      ScoreRules rules;
      Load(row, first, count, rules);
      if (rules.open != nullptr) AddBools(rules.open, facts);
      if (rules.bias != nullptr) AddFloats(rules.bias, facts);
      if (facts.open && !facts.trivial) break;
    }
    return facts;
  }

 private:
  // `data` itself if it is a whole run, else a copy padded with `rest`.
  template <typename T>
  const T* Run(const T* data, int64_t count, T* buffer, T rest) const {
    if (mask_.key == 1 && count == kKeyTile) return data;
    for (int64_t i = 0; i < count; ++i) buffer[i] = data[i * mask_.key];
    std::fill(buffer + count, buffer + kKeyTile, rest);
    return buffer;
  }

  static void AddBools(const uint8_t* open, MaskFacts& facts) {
    int count = 0;
    for (int64_t i = 0; i < kKeyTile; ++i) count += open[i] != 0 ? 1 : 0;
    facts.open = facts.open || count > 0;
    facts.trivial = facts.trivial && count == kKeyTile;
  }

  static void AddFloats(const float* bias, MaskFacts& facts) {
    const FloatTag d;
    const FloatVec practically_closed = hn::Set(d, kPracticallyClosed);
    FloatVec highest = hn::Set(d, facts.highest);
    for (size_t i = 0; i < kKeyTile; i += kLanes) {
      const FloatVec v = hn::LoadU(d, bias + i);
      highest = hn::Max(highest, v);
      // Not so for NaN.
      facts.open = facts.open || !hn::AllTrue(d, hn::Lt(v, practically_closed));
      facts.trivial = facts.trivial && hn::AllTrue(d, hn::Eq(v, hn::Zero(d)));
    }
    facts.highest = hn::ReduceMax(d, highest);
  }

  const AttentionMask& mask_;
  const AttentionBlock& block_;
  float* buffer_;
};

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
