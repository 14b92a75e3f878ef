// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_NBIT_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_NBIT_CODES_INL_H_
#undef ATTNRUN_OPS_GEMM_NBIT_CODES_INL_H_
#else
#define ATTNRUN_OPS_GEMM_NBIT_CODES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/gemm/nbit_kernel.h"
#include "ops/gemm/tile-inl.h"
#include "ops/gemm/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::RebindToSigned<Floats>;

// The format of a code: its bits, and whether its zero point is stored.
template <int kBitsOfCode, bool kWritten>
struct Code {
  static constexpr int kBits = kBitsOfCode;
  static constexpr bool kHasZeroPoint = kWritten;
  static constexpr int kPerWord = 32 / kBits;
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr float kMiddle = 1 << (kBits - 1);
};

// How codes are taken out of their words: masked where they are, not shifted, so that a code comes
// out multiplied by a power of two, by which its scale is divided in advance and its zero point
// multiplied. Powers of two do not change the bits.
template <class C>
struct Extraction {
  // Vectors of AVX2 are read from the byte on in which the code lies, which leaves few powers of
  // two to prepare for. Vectors of AVX-512 would then cross cache lines.
  static constexpr bool kReadsFromByte = HWY_TARGET > HWY_AVX3;
  // The number of powers of two: those of code `i` and `i` plus this are equal. In a whole word,
  // the last code would be negative if its highest bit is set: it is shifted after all.
  static constexpr int kPowers = kReadsFromByte ? 8 / C::kBits : C::kPerWord - 1;

  // The vector in which the mask finds code `i` of the words at `from`.
  static HWY_INLINE const int32_t* At(const uint8_t* from, int i) {
    return reinterpret_cast<const int32_t*>(from + (kReadsFromByte ? i * C::kBits / 8 : 0));
  }
  static HWY_INLINE hn::Vec<Words> MaskOf(int i) {
    const int power = kReadsFromByte ? i % kPowers : i;
    return hn::Set(Words(), static_cast<int32_t>(uint32_t{C::kMask} << (power * C::kBits)));
  }
  // The mask of the code after code `i`.
  static HWY_INLINE hn::Vec<Words> Following(hn::Vec<Words> mask, int i) {
    if (kReadsFromByte && (i + 1) % kPowers == 0) {
      return hn::ShiftRight<(kReadsFromByte ? kPowers - 1 : 0) * C::kBits>(mask);
    }
    return hn::ShiftLeft<C::kBits>(mask);
  }
  static constexpr bool IsShifted(int i) { return !kReadsFromByte && i == kPowers; }
  static constexpr int PowerOf(int i) { return IsShifted(i) ? 0 : i % kPowers; }
};

// Scales and zero points that turn the codes of one block and V vectors of columns into floats.
template <class C, int V>
struct Scaling {
  using From = Extraction<C>;
  static constexpr int kZeros = C::kHasZeroPoint ? From::kPowers : 1;

  // Reads scales and zero points of vector `v`. `block`: its first scale in a panel of `width`
  // columns.
  HWY_ATTR HWY_INLINE void Read(int v, const float* block, int64_t width) {
    const Floats d;
    scale[0][v] = hn::LoadU(d, block);
    ATTNRUN_UNROLL(16)
    for (int i = 1; i < From::kPowers; ++i) {
      scale[i][v] = hn::Mul(scale[0][v], hn::Set(d, 1.0F / (1 << (i * C::kBits))));
    }
    if constexpr (C::kHasZeroPoint) {
      zero[0][v] = hn::LoadU(d, block + width);
      ATTNRUN_UNROLL(16)
      for (int i = 1; i < kZeros; ++i) {
        zero[i][v] = hn::Mul(zero[0][v], hn::Set(d, 1 << (i * C::kBits)));
      }
    } else {
      zero[0][v] = hn::Mul(scale[0][v], hn::Set(d, -C::kMiddle));
    }
  }

  // The value of code `i` of the words of vector `v`, rounded once: scale times zero point is exact
  // if the zero point is a power of two. `mask`: that of the code. `first_zero`: zero[0][v], which
  // the caller may have in a register.
  HWY_ATTR HWY_INLINE Vector At(const uint8_t* from, int i, int v, hn::Vec<Words> mask,
                                Vector first_zero) const {
    const Floats d;
    const Words words;
    const hn::RebindToUnsigned<Floats> unsigned_words;
    const auto word = hn::LoadU(words, From::At(from, i));
    const auto shifted = hn::ShiftRight<32 - C::kBits>(hn::BitCast(unsigned_words, word));
    const auto code = From::IsShifted(i) ? hn::BitCast(words, shifted) : hn::And(word, mask);
    const int at = From::PowerOf(i);
    const Vector x = hn::ConvertTo(d, code);
    if constexpr (!C::kHasZeroPoint) return hn::MulAdd(x, scale[at][v], first_zero);
    return hn::Mul(hn::Sub(x, at == 0 ? first_zero : zero[at][v]), scale[at][v]);
  }

  // Indexed by power and vector: elements used together are adjacent, and so in different banks of
  // the cache.
  Vector scale[From::kPowers][V];
  // The zero point, or minus scale times zero point.
  Vector zero[kZeros][V];
};

// The place of the codes of row `k`. Blocks are powers of two: a division would delay the loads at
// the beginning of a block.
struct Place {
  template <class C>
  static Place Of(const NBitPanel& panel, int64_t width, int64_t k) {
    const NBitFormat& format = panel.format;
    const int shift = std::countr_zero(static_cast<uint64_t>(format.block));
    const uint8_t* const block = panel.data + (k >> shift) * format.block_bytes;
    const int64_t word = (k & (format.block - 1)) / C::kPerWord + (C::kHasZeroPoint ? 2 : 1);
    return {reinterpret_cast<const float*>(block), block + word * width * 4};
  }
  // The end of the block that row `k` belongs to.
  static int64_t End(int64_t block, int64_t k) { return (k & -block) + block; }

  const float* block;
  const uint8_t* words;
};

// Splits the rows [begin, end) at words: calls rows(k, first, count) for `count` rows from row `k`
// on, which are the codes from `first` on of one word.
template <class C, class F>
HWY_ATTR HWY_INLINE void ForEachWord(int64_t begin, int64_t end, F rows) {
  for (int64_t k = begin; k < end;) {
    const int64_t first = k % C::kPerWord;
    const int64_t count = std::min(C::kPerWord - first, end - k);
    rows(k, static_cast<int>(first), static_cast<int>(count));
    k += count;
  }
}

// The same pointer, opaque to the compiler: it then reads the memory again rather than keep values
// in registers that it does not have.
template <typename T>
HWY_INLINE const T* Opaque(const T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
