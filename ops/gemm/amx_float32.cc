// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/amx_float32.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>

#include "ops/gemm/amx_prefetch.h"
#include "ops/gemm/amx_target.h"

namespace attnrun::ops {
namespace {

// x rounded to bf16, ties away from 0, as a float.
ATTNRUN_AMX inline __m512i Piece(__m512i x) {
  const __m512i half = _mm512_set1_epi32(0x8000);
  const __m512i upper = _mm512_set1_epi32(static_cast<int32_t>(0xFFFF0000));
  return _mm512_and_si512(_mm512_add_epi32(x, half), upper);
}

ATTNRUN_AMX inline __m512i Minus(__m512i x, __m512i piece) {
  return _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(piece)));
}

ATTNRUN_AMX inline __m512i LoadFloats(const float* from, int64_t count) {
  return _mm512_castps_si512(_mm512_maskz_loadu_ps(FirstLanes(count), from));
}

// The greater magnitude of each of 16 lanes, as bits: those of floats are ordered as the floats.
ATTNRUN_AMX inline __m512i Larger(__m512i largest, __m512i x) {
  return _mm512_max_epi32(largest, _mm512_and_si512(x, _mm512_set1_epi32(0x7FFFFFFF)));
}

// Splits 32 numbers: 64 bytes for each piece, kAmxTileBytes apart.
ATTNRUN_AMX inline void SplitNumbers(__m512i low, __m512i high, uint8_t* to) {
  // The upper halves of the words of two vectors.
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                      23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                      45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i upper = _mm512_load_si512(kUpper);
  for (int64_t i = 0; i < kFloatPieces; ++i, to += kAmxTileBytes) {
    const __m512i low_piece = Piece(low);
    const __m512i high_piece = Piece(high);
    _mm512_store_si512(to, _mm512_permutex2var_epi16(low_piece, upper, high_piece));
    low = Minus(low, low_piece);
    high = Minus(high, high_piece);
  }
}

// Splits vectors [begin, end) of the 32 of a step of B, each of 16 columns of two rows, which
// become adjacent halves of words. To cut pieces off takes fewer instructions than to round them.
ATTNRUN_AMX inline __attribute__((always_inline)) void SplitVectors(const float* from,
                                                                    int64_t begin, int64_t end,
                                                                    uint8_t* to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int32_t>(0xFFFF0000));
#pragma GCC unroll 1
  for (int64_t i = begin; i < end; ++i) {
    __m512i even = _mm512_castps_si512(_mm512_loadu_ps(from + i * kAmxPanelWidth));
    __m512i odd = _mm512_castps_si512(_mm512_loadu_ps(from + i * kAmxPanelWidth + 16));
    uint8_t* at = to + i * kAmxStepBytes;
#pragma GCC unroll 2
    for (int piece = 0; piece < 2; ++piece, at += kAmxPanelBytes) {
      const __m512i even_piece = _mm512_and_si512(even, upper);
      const __m512i odd_piece = _mm512_and_si512(odd, upper);
      _mm512_store_si512(at, _mm512_or_si512(_mm512_srli_epi32(even, 16), odd_piece));
      even = Minus(even, even_piece);
      odd = Minus(odd, odd_piece);
    }
    // 8 bits are left of each, but for numbers near 2^-126: theirs below are cut off.
    _mm512_store_si512(at,
                       _mm512_or_si512(_mm512_srli_epi32(even, 16), _mm512_and_si512(odd, upper)));
  }
}

// The numbers of tile registers are constants of the instructions, hence macros. Sums are 0 to 3
// (row of blocks by column of tiles), 4 and 5 A, 6 and 7 B.
#define ATTNRUN_LOAD_A(piece)                                                       \
  _tile_stream_loadd(4, a + (piece) * kAmxTileBytes, kAmxStepBytes);                \
  if (kTwo) {                                                                       \
    _tile_stream_loadd(5, a + p.a_stride + (piece) * kAmxTileBytes, kAmxStepBytes); \
  }
#define ATTNRUN_LOAD_B(piece)                         \
  _tile_loadd(6, b + (piece) * kAmxPanelBytes, kRow); \
  _tile_loadd(7, b + (piece) * kAmxPanelBytes + kAmxStepBytes, kRow);
#define ATTNRUN_MULTIPLY     \
  _tile_dpbf16ps(0, 4, 6);   \
  _tile_dpbf16ps(1, 4, 7);   \
  if (kTwo) {                \
    _tile_dpbf16ps(2, 5, 6); \
    _tile_dpbf16ps(3, 5, 7); \
  }
// Beside the product, a sixth of the lines is prefetched and some vectors are split. Loads for the
// next product come before: they would wait for stores at equal offsets in a page.
#define ATTNRUN_BESIDE(sixth, begin, end) \
  PrefetchLines(next, p.lines, sixth);    \
  if (kAhead) SplitVectors(from, begin, end, to);

// Prefetches a sixth of the lines: a core waits for few misses at a time, so that many prefetches
// in a row would keep it from going on.
inline void PrefetchLines(const uint8_t* lines, int64_t count, int64_t sixth) {
  for (int64_t i = count * sixth / 6; i < count * (sixth + 1) / 6; ++i) {
    PrefetchLine(lines + i * kAmxStepBytes);
  }
}

// One step of K. `next` is prefetched. With kAhead, a later step of B is split from `from` to `to`.
template <bool kTwo, bool kAhead>
ATTNRUN_AMX inline __attribute__((always_inline)) void MultiplyStep(
    const AmxProduct& p, const uint8_t* a, const uint8_t* b, const uint8_t* next, const float* from,
    uint8_t* to) {
  constexpr int64_t kRow = kAmxPanelWidth * 4;
  // In an order that loads each piece of A once: A comes from the second-level cache.
  ATTNRUN_LOAD_A(2)
  ATTNRUN_LOAD_B(0)
  ATTNRUN_MULTIPLY
  ATTNRUN_LOAD_A(1)
  ATTNRUN_BESIDE(0, 0, 6)
  ATTNRUN_MULTIPLY
  ATTNRUN_LOAD_B(1)
  ATTNRUN_BESIDE(1, 6, 12)
  ATTNRUN_MULTIPLY
  ATTNRUN_LOAD_A(0)
  ATTNRUN_BESIDE(2, 12, 17)
  ATTNRUN_MULTIPLY
  ATTNRUN_LOAD_B(2)
  ATTNRUN_BESIDE(3, 17, 22)
  ATTNRUN_MULTIPLY
  ATTNRUN_LOAD_B(0)
  ATTNRUN_BESIDE(4, 22, 27)
  ATTNRUN_MULTIPLY
  ATTNRUN_BESIDE(5, 27, 32)
}

#undef ATTNRUN_BESIDE
#undef ATTNRUN_MULTIPLY
#undef ATTNRUN_LOAD_B
#undef ATTNRUN_LOAD_A

template <bool kTwo>
ATTNRUN_AMX void MultiplySteps(const AmxProduct& p, SplitRing& ring, const FloatSteps& ahead) {
  const int64_t sums_stride = p.ldc * 4;
  auto* const sums = static_cast<uint8_t*>(p.sums);
  FinishAccesses();
  _tile_zero(0);
  _tile_zero(1);
  if (kTwo) {
    _tile_zero(2);
    _tile_zero(3);
  }
  const uint8_t* a = p.a;
  const uint8_t* next = p.next;
  const float* from = ahead.from;
  for (int64_t step = 0; step < p.steps; ++step) {
    if (p.companion != nullptr) p.companion->Step();
    const uint8_t* const b = ring.Step(step);
    if (step < ahead.steps) {
      MultiplyStep<kTwo, true>(p, a, b, next, from, ring.Step(p.steps + step));
      from += kAmxFloatStep;
    } else {
      MultiplyStep<kTwo, false>(p, a, b, next, nullptr, nullptr);
    }
    a += kFloatPieces * kAmxTileBytes;
    next += p.lines * kAmxStepBytes;
  }
  for (int64_t step = p.steps; step < ahead.steps; ++step, from += kAmxFloatStep) {
    SplitVectors(from, 0, kAmxBf16Step, ring.Step(p.steps + step));
  }
  _tile_stored(0, sums, sums_stride);
  _tile_stored(1, sums + kAmxStepBytes, sums_stride);
  if (kTwo) {
    uint8_t* const below = sums + kAmxRows * sums_stride;
    _tile_stored(2, below, sums_stride);
    _tile_stored(3, below + kAmxStepBytes, sums_stride);
  }
  FinishAccesses();
}

ATTNRUN_AMX uint32_t PackPieces(const float* from, int64_t row_stride, int64_t rows, int64_t count,
                                uint8_t* block) {
  __m512i largest[kAmxRows] = {};
  for (; count > 0; count -= kAmxBf16Step, from += kAmxBf16Step) {
    for (int64_t row = 0; row < rows; ++row) {
      const float* const at = from + row * row_stride;
      const __m512i low = LoadFloats(at, count);
      const __m512i high = LoadFloats(at + 16, count - 16);
      largest[row] = Larger(Larger(largest[row], low), high);
      SplitNumbers(low, high, block + row * kAmxStepBytes);
    }
    block += kFloatPieces * kAmxTileBytes;
  }
  uint32_t wide = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto bits = static_cast<uint32_t>(_mm512_reduce_max_epi32(largest[row]));
    if (!CanSplit(std::bit_cast<float>(bits))) wide |= uint32_t{1} << row;
  }
  return wide;
}

// The bits of the largest magnitudes of 32 columns, beginning at `largest`.
ATTNRUN_AMX void LargestOfColumns(const float* panel, int64_t steps, uint32_t* largest) {
  __m512i halves[2] = {};
  for (int64_t i = 0; i < steps * kAmxBf16Step; ++i, panel += kAmxPanelWidth) {
    const __m512i even = _mm512_castps_si512(_mm512_loadu_ps(panel));
    const __m512i odd = _mm512_castps_si512(_mm512_loadu_ps(panel + 16));
    halves[i % 2] = Larger(Larger(halves[i % 2], even), odd);
  }
  _mm512_storeu_si512(largest, halves[0]);
  _mm512_storeu_si512(largest + 16, halves[1]);
}

ATTNRUN_AMX void Split(const float* from, uint8_t* to) { SplitVectors(from, 0, 32, to); }

ATTNRUN_AMX void Add(const float* part, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; i += 16) {
    _mm512_storeu_ps(sums + i, _mm512_add_ps(_mm512_loadu_ps(sums + i), _mm512_loadu_ps(part + i)));
  }
}

}  // namespace

uint32_t PackSplitBlock(const float* from, int64_t row_stride, int64_t rows, int64_t count,
                        uint8_t* block) {
  return PackPieces(from, row_stride, rows, count, block);
}

void PackFloatStep(const float* from, float* to) {
  constexpr int64_t kHalf = kAmxPanelWidth / 2;
  for (int64_t row = 0; row < kAmxBf16Step; ++row) {
    for (int64_t column = 0; column < kAmxPanelWidth; column += kHalf) {
      std::copy_n(from + row * kAmxPanelWidth + column, kHalf, to + IndexInFloatStep(row, column));
    }
  }
}

bool CanSplitPanel(const float* panel, int64_t steps) {
  std::array<uint32_t, kAmxPanelWidth> largest;
  LargestOfColumns(panel, steps, largest.data());
  return std::all_of(largest.begin(), largest.end(),
                     [](uint32_t bits) { return CanSplit(std::bit_cast<float>(bits)); });
}

void SplitRing::Begin(const FloatSteps& steps) {
  for (int64_t step = 0; step < steps.steps; ++step) {
    Split(steps.from + step * kAmxFloatStep, Step(step));
  }
}

void SplitRing::Multiply(const AmxProduct& product, const FloatSteps& ahead) {
  product.blocks == 2 ? MultiplySteps<true>(product, *this, ahead)
                      : MultiplySteps<false>(product, *this, ahead);
}

void AddSums(const float* part, int64_t count, float* sums) { Add(part, count, sums); }

}  // namespace attnrun::ops
