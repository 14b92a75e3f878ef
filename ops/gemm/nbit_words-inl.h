// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_NBIT_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_NBIT_WORDS_INL_H_
#undef ATTNRUN_OPS_GEMM_NBIT_WORDS_INL_H_
#else
#define ATTNRUN_OPS_GEMM_NBIT_WORDS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "ops/gemm/nbit_int8_kernel.h"
#include "ops/gemm/nbit_prefetch-inl.h"
#include "ops/gemm/tile-inl.h"
#include "ops/gemm/unroll.h"
#include "ops/gemm/vnni-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::RebindToSigned<Floats>;
using Shorts = hn::Repartition<int16_t, Floats>;
using Bytes = hn::Repartition<int8_t, Floats>;
using Codes = hn::Repartition<uint8_t, Floats>;
using IntVector = hn::Vec<Ints>;

// sums += products of four codes and four values in each lane. Codes are at most 15, so that pairs
// of products fit 16 bits.
template <bool kVnni>
HWY_ATTR HWY_INLINE void AddProducts(IntVector& sums, hn::Vec<Codes> codes, IntVector values) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kVnni) {
    AddVnni(sums, codes, values);
    return;
  }
#endif
  const Shorts shorts;
  const auto pairs = hn::SatWidenMulPairwiseAdd(shorts, codes, hn::BitCast(Bytes(), values));
  sums = hn::Add(sums, hn::WidenMulPairwiseAdd(Ints(), pairs, hn::Set(shorts, 1)));
}

// Adds the products of R rows of values and the even or the odd codes of a word.
template <int R, bool kVnni, bool kOdd>
HWY_ATTR HWY_INLINE void AddHalfWord(IntVector (&sums)[R][kNarrow], const uint8_t* words,
                                     const int8_t* values, int64_t stride) {
  const Ints d;
  hn::Vec<Codes> codes[kNarrow];
  ATTNRUN_UNROLL(3)
  for (int v = 0; v < kNarrow; ++v) {
    const uint8_t* const at = words + v * hn::Lanes(d) * 4;
    auto word = hn::LoadU(d, reinterpret_cast<const int32_t*>(at));
    if (kOdd) word = hn::ShiftRight<4>(word);
    codes[v] = hn::BitCast(Codes(), hn::And(word, hn::Set(d, 0x0F0F0F0F)));
  }
  ATTNRUN_UNROLL(9)
  for (int r = 0; r < R; ++r) {
    int32_t four;
    std::memcpy(&four, values + r * stride + (kOdd ? 4 : 0), sizeof(four));
    auto factor = hn::Set(d, four);
    // One factor at a time: together with the sums, more would not fit the registers.
    asm volatile("" : "+v"(factor.raw));
    ATTNRUN_UNROLL(3)
    for (int v = 0; v < kNarrow; ++v) AddProducts<kVnni>(sums[r][v], codes[v], factor);
  }
}

// The sums of one block: R rows of values times the words of a panel.
template <int R, bool kVnni>
HWY_ATTR HWY_INLINE void SumWords(IntVector (&sums)[R][kNarrow], const uint8_t* words,
                                  int64_t count, const int8_t* values, int64_t stride,
                                  const uint8_t* last) {
  const auto bytes = static_cast<int64_t>(kNarrow * hn::Lanes(Ints()) * 4);
  for (; count > 0; --count, words += bytes, values += 8) {
    PrefetchWords(words, last);
    AddHalfWord<R, kVnni, false>(sums, words, values, stride);
    // Reads the words again: registers that held them meanwhile would be taken from the sums.
    const uint8_t* again = words;
    asm volatile("" : "+r"(again) : : "memory");
    AddHalfWord<R, kVnni, true>(sums, again, values, stride);
  }
}

// The sums of a block before its products, for R rows of values: without zero points, codes count
// from 8 on. Sums of the values are `stride` numbers apart.
template <int R, bool kZeros>
HWY_ATTR HWY_INLINE void BeginSums(IntVector (&sums)[R][kNarrow], const int32_t* row_sums,
                                   int64_t stride) {
  constexpr int kMiddle = 8;
  ATTNRUN_UNROLL(9)
  for (int r = 0; r < R; ++r) {
    const int32_t first = kZeros ? 0 : -kMiddle * row_sums[r * stride];
    ATTNRUN_UNROLL(3)
    for (int v = 0; v < kNarrow; ++v) sums[r][v] = hn::Set(Ints(), first);
  }
}

// total += (x - zero points * sum of values) * scales, for vector `v` of a block that begins with
// `scales`.
template <bool kZeros>
HWY_ATTR HWY_INLINE void AddScaled(Vector x, Vector sum, Vector row_scale, const float* scales,
                                   int v, float* total) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (kZeros) x = hn::NegMulAdd(hn::LoadU(d, scales + (kNarrow + v) * lanes), sum, x);
  const Vector factor = hn::Mul(row_scale, hn::LoadU(d, scales + v * lanes));
  hn::Store(hn::MulAdd(x, factor, hn::Load(d, total)), d, total);
}

// Writes the totals of R rows to C.
template <int R>
HWY_ATTR HWY_INLINE void StoreTotals(const float* totals, const RoundedProduct& p) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kNarrow; ++v) {
      const int64_t left = std::max<int64_t>(p.columns - v * lanes, 0);
      const Vector total = hn::Load(d, totals + (r * kNarrow + v) * lanes);
      hn::StoreN(total, d, p.c + r * p.ldc + v * lanes, left);
    }
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
