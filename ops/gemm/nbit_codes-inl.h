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

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::RebindToSigned<Floats>;

// What a code is: its bits and whether its zero point is written down.
template <int kBitsOfCode, bool kWritten>
struct Code {
  static constexpr int kBits = kBitsOfCode;
  static constexpr bool kHasZeroPoint = kWritten;
  static constexpr int kPerWord = 32 / kBits;
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr float kMiddle = 1 << (kBits - 1);
};

// What turns codes of one block and V vectors of columns into floats. Codes are not shifted but
// masked where they are in their words, so that code `i` comes as a multiple of 2^(i * kBits):
// scales are divided by that beforehand, and zero points multiplied. Powers of two leave the bits
// alone.
template <class C, int V>
struct Scaling {
  static constexpr int kLast = C::kPerWord - 1;
  static constexpr int kZeros = C::kHasZeroPoint ? kLast : 1;

  // Of vector `v`, whose first scale in a panel that is so wide is `block`.
  HWY_ATTR HWY_INLINE void Read(int v, const float* block, int64_t width) {
    const Floats d;
    scale[0][v] = hn::LoadU(d, block);
    HWY_UNROLL(16)
    for (int i = 1; i < kLast; ++i) {
      scale[i][v] = hn::Mul(scale[0][v], hn::Set(d, 1.0F / (1 << (i * C::kBits))));
    }
    if constexpr (C::kHasZeroPoint) {
      zero[0][v] = hn::LoadU(d, block + width);
      HWY_UNROLL(16)
      for (int i = 1; i < kZeros; ++i) {
        zero[i][v] = hn::Mul(zero[0][v], hn::Set(d, 1 << (i * C::kBits)));
      }
    } else {
      zero[0][v] = hn::Mul(scale[0][v], hn::Set(d, -C::kMiddle));
    }
  }

  // Code `i` of the words of vector `v`, rounded once: scale times zero point is exact where that
  // is a power of two. `first_zero`: zero[0][v], which the caller may have in a register.
  HWY_ATTR HWY_INLINE Vector At(const uint8_t* from, int i, int v, hn::Vec<Words> mask,
                                Vector first_zero) const {
    const Floats d;
    const Words words;
    const hn::RebindToUnsigned<Floats> unsigned_words;
    const auto word = hn::LoadU(words, reinterpret_cast<const int32_t*>(from));
    // Masked, the last one would be negative where its highest bit is set.
    const auto last = hn::ShiftRight<32 - C::kBits>(hn::BitCast(unsigned_words, word));
    const auto code = i == kLast ? hn::BitCast(words, last) : hn::And(word, mask);
    const int at = i == kLast ? 0 : i;
    const Vector x = hn::ConvertTo(d, code);
    if constexpr (!C::kHasZeroPoint) return hn::MulAdd(x, scale[at][v], first_zero);
    return hn::Mul(hn::Sub(x, at == 0 ? first_zero : zero[at][v]), scale[at][v]);
  }

  // By code and vector: those used together lie side by side, and so in different banks of the
  // cache.
  Vector scale[kLast][V];
  // The zero point, or minus scale times zero point.
  Vector zero[kZeros][V];
};

// Where the codes of row `k` lie. Blocks are powers of two, as divisions would delay the loads that
// a block begins with.
struct Place {
  template <class C>
  static Place Of(const NBitPanel& panel, int64_t width, int64_t k) {
    const NBitFormat& format = panel.format;
    const int shift = std::countr_zero(static_cast<uint64_t>(format.block));
    const uint8_t* const block = panel.data + (k >> shift) * format.block_bytes;
    const int64_t word = (k & (format.block - 1)) / C::kPerWord + (C::kHasZeroPoint ? 2 : 1);
    return {reinterpret_cast<const float*>(block), block + word * width * 4};
  }
  // Where the block that row `k` belongs to ends.
  static int64_t End(int64_t block, int64_t k) { return (k & -block) + block; }

  const float* block;
  const uint8_t* words;
};

// Calls rows(first, count) for the rows [begin, end) cut at words.
template <class C, class F>
HWY_ATTR HWY_INLINE void ForEachWord(int64_t begin, int64_t end, F rows) {
  for (int64_t k = begin; k < end;) {
    const int64_t first = k % C::kPerWord;
    const int64_t count = std::min(C::kPerWord - first, end - k);
    rows(k, static_cast<int>(first), static_cast<int>(count));
    k += count;
  }
}

// The same pointer, which the compiler cannot see through: what it reads there it reads again,
// rather than keep it in registers that it does not have.
template <typename T>
HWY_INLINE const T* Opaque(const T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
