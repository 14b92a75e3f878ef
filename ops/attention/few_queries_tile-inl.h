// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_FEW_QUERIES_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_FEW_QUERIES_TILE_INL_H_
#undef ATTNRUN_OPS_ATTENTION_FEW_QUERIES_TILE_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_FEW_QUERIES_TILE_INL_H_
#endif

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/attention/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products of up to kRowsAtOnce rows with keys or values that come from memory. Each element is the
// same chain of multiply-adds as in MultiplyRegisterTile. AVX-512 has twice the registers.
inline constexpr size_t kRowsAtOnce = HWY_CAP_GE512 ? 8 : 3;
inline constexpr int64_t kFloatsPerLine = 16;
// Rows are prefetched so many floats before they are read.
inline constexpr int64_t kFloatsAhead = 1024;

// Rows of a cache: `rows` of them may be read, `stride` floats apart.
struct CacheRows {
  const float* data;
  int64_t stride;
  int64_t rows;
};

// Prefetches `size` floats of each row, in their order, some rows before they are read: at least
// `least`. Prefetches nothing if `size` is 0.
class RowFetch {
 public:
  HWY_INLINE RowFetch(const CacheRows& rows, int64_t size, int64_t least)
      : rows_(rows),
        size_(size),
        ahead_(size == 0 ? rows.rows : HWY_MAX(least, kFloatsAhead / size)),
        next_(ahead_) {}

  // Prefetches the next `count` rows, as long as they come before those for row `end`.
  HWY_INLINE void Fetch(int64_t count, int64_t end) {
    const int64_t until = HWY_MIN(HWY_MIN(next_ + count, ahead_ + end), rows_.rows);
    for (; next_ < until; ++next_) {
      const float* const row = rows_.data + next_ * rows_.stride;
      for (int64_t i = 0; i < size_; i += kFloatsPerLine) hwy::Prefetch(row + i);
    }
  }

 private:
  const CacheRows rows_;
  const int64_t size_;
  const int64_t ahead_;
  int64_t next_;
};

// scores[r * scores_stride + t] = q[r * ldq + ...] times `factor` times key t, for the next kGroups
// vectors of keys. They are transposed in registers. Meanwhile `fetched` floats of each key that
// follows are prefetched, row by row: the transposition reads lines of all rows at once, a pattern
// that the hardware's prefetcher does not follow.
template <size_t kRows, size_t kGroups>
HWY_INLINE void ScoreKeys(const float* HWY_RESTRICT q, size_t ldq, const CacheRows& keys,
                          int64_t size, int64_t fetched, float factor, float* HWY_RESTRICT scores,
                          size_t scores_stride) {
  constexpr auto kKeys = static_cast<int64_t>(kGroups * kLanes);
  const FloatTag d;
  const FloatVec by = hn::Set(d, factor);
  RowFetch fetch(keys, fetched, kKeys);
  const int64_t rows_per_step = (4 * kKeys + size - 1) / size;
  int64_t stride = keys.stride;
  FloatVec sums[kRows][kGroups];
  HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(2) for (size_t g = 0; g < kGroups; ++g) sums[r][g] = hn::Zero(d);
  }
  for (int64_t h = 0; h < size; h += 4) {
    fetch.Fetch(rows_per_step, kKeys);
    HWY_UNROLL(2) for (size_t g = 0; g < kGroups; ++g) {
      FloatVec column[4];
      const float* from = keys.data + static_cast<int64_t>(g * kLanes) * stride + h;
      // Otherwise the compiler keeps a pointer to each key, more than there are registers.
      asm volatile("" : "+r"(from), "+r"(stride));
      TransposeInRegisters(from, stride, by, column);
      // Reads the queries again for each group: registers are scarce.
      const float* element = q + h;
      asm volatile("" : "+r"(element) : : "memory");
      HWY_UNROLL(4) for (size_t i = 0; i < 4; ++i) {
        HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
          sums[r][g] = hn::MulAdd(hn::Set(d, element[r * ldq + i]), column[i], sums[r][g]);
        }
      }
    }
  }
  HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(2) for (size_t g = 0; g < kGroups; ++g) {
      hn::StoreU(sums[r][g], d, scores + r * scores_stride + g * kLanes);
    }
  }
}

// sums[r * sums_stride + ...] += weights of `count` keys times their values, for kVectors vectors
// of channels. Meanwhile the rows that follow are prefetched, `fetched` floats of each.
template <size_t kRows, size_t kVectors>
HWY_INLINE void AddWeightedValues(const float* HWY_RESTRICT weights, size_t weights_stride,
                                  const CacheRows& values, size_t count, int64_t fetched,
                                  float* HWY_RESTRICT sums, size_t sums_stride) {
  const FloatTag d;
  FloatVec sum[kRows][kVectors];
  HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(4) for (size_t v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::LoadU(d, sums + r * sums_stride + v * kLanes);
    }
  }
  const float* from = values.data;
  RowFetch fetch(values, fetched, 1);
  for (size_t t = 0; t < count; ++t, from += values.stride) {
    fetch.Fetch(1, static_cast<int64_t>(count));
    FloatVec factor[kRows];
    HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
      factor[r] = hn::Set(d, weights[r * weights_stride + t]);
    }
    HWY_UNROLL(4) for (size_t v = 0; v < kVectors; ++v) {
      const FloatVec value = hn::LoadU(d, from + v * kLanes);
      HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
        sum[r][v] = hn::MulAdd(factor[r], value, sum[r][v]);
      }
    }
  }
  HWY_UNROLL(8) for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(4) for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], d, sums + r * sums_stride + v * kLanes);
    }
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
