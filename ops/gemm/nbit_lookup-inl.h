// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_NBIT_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_NBIT_LOOKUP_INL_H_
#undef ATTNRUN_OPS_GEMM_NBIT_LOOKUP_INL_H_
#else
#define ATTNRUN_OPS_GEMM_NBIT_LOOKUP_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/gemm/nbit_codes-inl.h"
#include "ops/gemm/unroll.h"

namespace attnrun::ops::HWY_NAMESPACE {

// Codes of 4 bits on vectors of 16 floats. One permutation turns 16 codes into floats: it looks
// each lane's low four bits up in a table and ignores the other bits. Codes 0, 2, 4 and 6 of a word
// begin a byte, so that reading from that byte on puts them in place; the others need a shift.
// These are 3.5 instructions per vector of weights and row, in place of 4 with masks and
// conversions, and scales need no preparation.
template <class C>
constexpr bool kLooksUp = C::kBits == 4 && HWY_TARGET <= HWY_AVX3;

}  // namespace attnrun::ops::HWY_NAMESPACE

#if HWY_TARGET <= HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using CodeWords = hn::Vec<Words>;

// The scales and zero points of one block of a panel.
template <class C>
struct LookupScaling {
  static_assert(C::kBits == 4);
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kWidth = kNarrow * kLanes;

  HWY_ATTR HWY_INLINE LookupScaling()
      : table(hn::Iota(Floats(), C::kHasZeroPoint ? 0.0F : -C::kMiddle)) {}

  HWY_ATTR HWY_INLINE void Read(const float* block) {
    ATTNRUN_UNROLL(3)
    for (int v = 0; v < kNarrow; ++v) {
      scale[v] = hn::LoadU(Floats(), block + v * kLanes);
      if constexpr (C::kHasZeroPoint) zero[v] = hn::LoadU(Floats(), block + kWidth + v * kLanes);
    }
  }

  // The values of the codes in the low bits of the lanes, rounded once.
  HWY_ATTR HWY_INLINE Vector At(CodeWords codes, int v) const {
    // Not IndicesFromVec, which does not allow other bits in debug builds.
    Vector x = hn::TableLookupLanes(table, hn::Indices512<float>{codes.raw});
    if constexpr (C::kHasZeroPoint) x = hn::Sub(x, zero[v]);
    return hn::Mul(x, scale[v]);
  }

  Vector table;
  Vector scale[kNarrow];
  Vector zero[C::kHasZeroPoint ? kNarrow : 1];
};

// The codes of a word of kNarrow vectors, from code `i` on.
template <class C>
HWY_ATTR HWY_INLINE void ReadCodes(const uint8_t* words, int i, CodeWords* codes) {
  ATTNRUN_UNROLL(3)
  for (int v = 0; v < kNarrow; ++v) {
    const uint8_t* const at = words + v * LookupScaling<C>::kLanes * 4 + i / 2;
    codes[v] = hn::LoadU(Words(), reinterpret_cast<const int32_t*>(at));
  }
}
template <class C>
HWY_ATTR HWY_INLINE void NextCodes(CodeWords* codes) {
  ATTNRUN_UNROLL(3)
  for (int v = 0; v < kNarrow; ++v) codes[v] = hn::ShiftRight<C::kBits>(codes[v]);
}

// Calls row(k, codes, scaling) for the rows [begin, end) of a panel, k = 0 for the first of them,
// with kNarrow vectors that have the codes in their low bits; and word(words) before each whole
// word.
template <class C, class Word, class Row>
HWY_ATTR HWY_INLINE void ForEachRow(const NBitPanel& panel, int64_t begin, int64_t end, Word word,
                                    Row row) {
  constexpr int64_t kBytes = LookupScaling<C>::kWidth * 4;
  const NBitFormat format = panel.format;
  LookupScaling<C> scaling;
  CodeWords codes[kNarrow];
  int64_t k = begin;
  const auto part = [&](const uint8_t* words, int first, int count) HWY_ATTR {
    for (int i = first; i < first + count; ++i) {
      ReadCodes<C>(words, i, codes);
      if (i % 2 != 0) NextCodes<C>(codes);
      row(k - begin, codes, scaling);
      ++k;
    }
  };
  while (k < end) {
    const int64_t until = std::min(end, Place::End(format.block, k));
    const Place place = Place::Of<C>(panel, LookupScaling<C>::kWidth, k);
    scaling.Read(place.block);
    const uint8_t* words = place.words;
    const int first = static_cast<int>(static_cast<uint64_t>(k) % C::kPerWord);
    if (first != 0) {
      part(words, first, static_cast<int>(std::min<int64_t>(C::kPerWord - first, until - k)));
      words += kBytes;
    }
    for (; k + C::kPerWord <= until; k += C::kPerWord, words += kBytes) {
      word(words);
      ATTNRUN_UNROLL(4)
      for (int i = 0; i < C::kPerWord; i += 2) {
        ReadCodes<C>(words, i, codes);
        row(k - begin + i, codes, scaling);
        NextCodes<C>(codes);
        row(k - begin + i + 1, codes, scaling);
      }
    }
    if (k < until) part(words, 0, static_cast<int>(until - k));
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#endif  // per-target include guard
