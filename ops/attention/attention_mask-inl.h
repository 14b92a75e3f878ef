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

// What bias and mask say of one tile.
struct MaskFacts {
  // Some key is open to some row, or may be for all that is known.
  bool open = true;
  // They change no score.
  bool trivial = true;
  // If not open: no less than the bias of any key that the mask leaves open.
  float highest = kMinusInfinity;
};

// Numbers of a bias below this close a key for all practical purposes; that they do is checked
// before it is relied on.
inline constexpr float kPracticallyClosed = -1000.0F;

// Bias and mask as the rows of one block see them.
class BlockMask {
 public:
  // `buffer`: kMaskScratch floats.
  BlockMask(const AttentionProblem& problem, const AttentionBlock& block, float* buffer)
      : bias_(problem.bias),
        mask_(problem.mask),
        block_(block),
        bias_buffer_(buffer),
        mask_buffer_(reinterpret_cast<uint8_t*>(buffer + kKeyTile)) {}

  // One row's kKeyTile elements of each from key `first` on, of which there are `count`, as bias
  // and open of `rules`. Valid until the next call.
  void Load(int64_t row, int64_t first, int64_t count, ScoreRules& rules) const {
    rules.bias = LoadBias(row, first, count);
    rules.open = LoadMask(row, first, count);
  }

  MaskFacts Facts(IndexRange rows, int64_t first, int64_t count) const {
    MaskFacts facts = MaskAlone(rows, first, count);
    if (!facts.open || bias_.data == nullptr) return facts;
    const MaskFacts bias = BiasAlone(rows, first, count);
    return {bias.open, facts.trivial && bias.trivial, bias.highest};
  }

 private:
  const float* LoadBias(int64_t row, int64_t first, int64_t count) const {
    if (bias_.data == nullptr) return nullptr;
    return Run(At(bias_, bias_.data, row, first), bias_.key, count, bias_buffer_, kMinusInfinity);
  }
  const uint8_t* LoadMask(int64_t row, int64_t first, int64_t count) const {
    if (mask_.data == nullptr) return nullptr;
    return Run(At(mask_, reinterpret_cast<const uint8_t*>(mask_.data), row, first), mask_.key,
               count, mask_buffer_, uint8_t{0});
  }

  MaskFacts MaskAlone(IndexRange rows, int64_t first, int64_t count) const {
    MaskFacts facts;
    if (mask_.data == nullptr) return facts;
    facts.open = false;
    rows.end = DistinctEnd(mask_, rows);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      AddBools(LoadMask(row, first, count), facts);
      if (facts.open && !facts.trivial) break;
    }
    return facts;
  }

  MaskFacts BiasAlone(IndexRange rows, int64_t first, int64_t count) const {
    MaskFacts facts;
    facts.open = false;
    rows.end = DistinctEnd(bias_, rows);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      AddFloats(LoadBias(row, first, count), facts);
      if (facts.open && !facts.trivial) break;
    }
    return facts;
  }

  // Rows that share their part of an operand say the same.
  template <typename T>
  int64_t DistinctEnd(const ScoreOperand<T>& operand, IndexRange rows) const {
    const bool same = operand.query == 0 && (operand.head == 0 || block_.group == 1);
    return same ? std::min(rows.end, rows.begin + 1) : rows.end;
  }

  template <typename T, typename U>
  const U* At(const ScoreOperand<T>& operand, const U* data, int64_t row, int64_t first) const {
    return data + block_.sample * operand.batch + block_.Head(row) * operand.head +
           block_.Query(row) * operand.query + first * operand.key;
  }

  // `data` itself if it is a whole run, else a copy padded with `rest`.
  template <typename T>
  static const T* Run(const T* data, int64_t stride, int64_t count, T* buffer, T rest) {
    if (stride == 1 && count == kKeyTile) return data;
    for (int64_t i = 0; i < count; ++i) buffer[i] = data[i * stride];
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

  const ScoreOperand<float>& bias_;
  const ScoreOperand<bool>& mask_;
  const AttentionBlock& block_;
  float* const bias_buffer_;
  uint8_t* const mask_buffer_;
};

// What position, bias and mask do to one row's scores of the `count` keys from `first` on. Bias and
// mask are left out unless `masked`.
inline ScoreRules RulesOf(const AttentionProblem& p, const AttentionBlock& block,
                          const BlockMask& mask, int64_t row, int64_t first, int64_t count,
                          bool masked) {
  ScoreRules rules;
  rules.softcap = p.softcap;
  rules.closed_score = p.closed_score;
  rules.valid = static_cast<int>(std::min(kKeyTile, ValidKeys(p, block.sample) - first));
  const IndexRange open = OpenKeys(p, block.sample, block.Query(row));
  rules.begin = static_cast<int>(std::clamp<int64_t>(open.begin - first, 0, kKeyTile));
  rules.end = static_cast<int>(std::clamp<int64_t>(open.end - first, 0, kKeyTile));
  if (masked) mask.Load(row, first, count, rules);
  return rules;
}

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
