// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/amx.h"

#include <immintrin.h>

#include <algorithm>

#include "ops/gemm/amx_prefetch.h"
#include "ops/gemm/amx_target.h"

namespace attnrun::ops {
namespace {

// The operand of LDTILECFG.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_per_row[16] = {};
  uint8_t rows[16] = {};
};

// Registers 0 to 3 hold sums, 4 and 5 A, 6 and 7 B. Most products pad blocks with fewer rows: with
// few rows, memory limits a product and not the unit.
constexpr TileConfiguration TilesOf(int64_t step_bytes, int64_t rows) {
  TileConfiguration tiles;
  for (int i = 0; i < 8; ++i) {
    const bool is_a = i == 4 || i == 5;
    tiles.bytes_per_row[i] = static_cast<uint16_t>(is_a ? step_bytes : kAmxStepBytes);
    tiles.rows[i] = static_cast<uint8_t>(i < 6 ? rows : step_bytes / 4);
  }
  return tiles;
}
constexpr TileConfiguration kFullTiles = TilesOf(kAmxStepBytes, kAmxRows);

// The numbers of tile registers are constants of the instructions, hence macros.
#define ATTNRUN_MULTIPLY(sum, a, b)        \
  if constexpr (kType == AmxType::kBf16) { \
    _tile_dpbf16ps(sum, a, b);             \
  } else {                                 \
    _tile_dpbusd(sum, a, b);               \
  }

// Registers: 0 to 3 sums (row of blocks by column of tiles), 4 and 5 A, 6 and 7 B.
template <AmxType kType, bool kTwo>
ATTNRUN_AMX void Multiply(const AmxProduct& p) {
  constexpr int64_t kWord = 4;
  const int64_t sums_stride = p.ldc * kWord;
  auto* const sums = static_cast<uint8_t*>(p.sums);
  uint8_t* const below = sums + kAmxRows * sums_stride;
  FinishAccesses();
  if (p.accumulate) {
    _tile_loadd(0, sums, sums_stride);
    _tile_loadd(1, sums + kAmxStepBytes, sums_stride);
    if (kTwo) {
      _tile_loadd(2, below, sums_stride);
      _tile_loadd(3, below + kAmxStepBytes, sums_stride);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if (kTwo) {
      _tile_zero(2);
      _tile_zero(3);
    }
  }
  constexpr int64_t kRow = kAmxPanelWidth * kWord;
  const uint8_t* a = p.a;
  const uint8_t* b = p.b;
  const uint8_t* next = p.next;
  AmxCompanion* const companion = p.companion;
  for (int64_t step = 0; step < p.steps; ++step, a += kAmxTileBytes, b += kAmxPanelBytes) {
    for (int64_t i = 0; i < p.lines; ++i, next += kAmxStepBytes) PrefetchLine(next);
    if (companion != nullptr) companion->Step();
    // A passes through the first-level cache once for each panel, and must not evict B there.
    _tile_stream_loadd(4, a, kAmxStepBytes);
    _tile_loadd(6, b, kRow);
    ATTNRUN_MULTIPLY(0, 4, 6)
    _tile_loadd(7, b + kAmxStepBytes, kRow);
    ATTNRUN_MULTIPLY(1, 4, 7)
    if (kTwo) {
      _tile_stream_loadd(5, a + p.a_stride, kAmxStepBytes);
      ATTNRUN_MULTIPLY(2, 5, 6)
      ATTNRUN_MULTIPLY(3, 5, 7)
    }
  }
  _tile_stored(0, sums, sums_stride);
  _tile_stored(1, sums + kAmxStepBytes, sums_stride);
  if (kTwo) {
    _tile_stored(2, below, sums_stride);
    _tile_stored(3, below + kAmxStepBytes, sums_stride);
  }
}

#undef ATTNRUN_MULTIPLY

// GCC ignores the target of a constructor.
ATTNRUN_AMX void LoadConfiguration(const TileConfiguration& tiles) { _tile_loadconfig(&tiles); }
ATTNRUN_AMX void Release() { _tile_release(); }

}  // namespace

AmxScope::AmxScope() { LoadConfiguration(kFullTiles); }
AmxScope::AmxScope(int64_t step_bytes, int64_t rows) {
  LoadConfiguration(TilesOf(step_bytes, rows));
}
AmxScope::~AmxScope() { Release(); }

void MultiplyTiles(AmxType type, const AmxProduct& p) {
  if (type == AmxType::kBf16) {
    return p.blocks == 2 ? Multiply<AmxType::kBf16, true>(p) : Multiply<AmxType::kBf16, false>(p);
  }
  p.blocks == 2 ? Multiply<AmxType::kUint8Int8, true>(p) : Multiply<AmxType::kUint8Int8, false>(p);
}

namespace {

// The mask of the first `count` of 32 lanes.
inline __mmask32 FirstHalves(int64_t count) {
  return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(count, 0, 32)) - 1);
}

// The first `count` numbers as bf16, 32 of them at most; zeros behind.
ATTNRUN_AMX inline __m512i LoadHalves(const float* from, int64_t count) {
  const __m512 low = _mm512_maskz_loadu_ps(FirstLanes(count), from);
  const __m512 high = _mm512_maskz_loadu_ps(FirstLanes(count - 16), from + 16);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}
ATTNRUN_AMX inline __m512i LoadHalves(const uint16_t* from, int64_t count) {
  return _mm512_maskz_loadu_epi16(FirstHalves(count), from);
}

template <typename T>
ATTNRUN_AMX void PackBlock(const T* from, int64_t row_stride, int64_t rows, int64_t count,
                           uint8_t* block) {
  // Step by step, so that the block is written from its begin to its end.
  for (; count > 0; count -= kAmxBf16Step, from += kAmxBf16Step, block += kAmxTileBytes) {
    for (int64_t row = 0; row < rows; ++row) {
      _mm512_storeu_si512(block + row * kAmxStepBytes, LoadHalves(from + row * row_stride, count));
    }
  }
}

// Rows 2 i and 2 i + 1 of a step become adjacent halves of 32-bit words.
template <typename T>
ATTNRUN_AMX void PackStep(const T* from, int64_t ld, int64_t rows, int64_t columns, uint8_t* to) {
  // Interleave the first or the last 16 columns of two rows.
  alignas(64) static constexpr uint16_t kLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                    37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                    11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  for (int64_t row = 0; row < kAmxBf16Step; row += 2, to += 2 * kAmxStepBytes) {
    const __m512i even = row < rows ? LoadHalves(from + row * ld, columns) : _mm512_setzero_si512();
    const __m512i odd =
        row + 1 < rows ? LoadHalves(from + (row + 1) * ld, columns) : _mm512_setzero_si512();
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(even, low, odd));
    _mm512_storeu_si512(to + kAmxStepBytes, _mm512_permutex2var_epi16(even, high, odd));
  }
}

}  // namespace

void PackBf16Block(const float* from, int64_t row_stride, int64_t rows, int64_t count,
                   uint8_t* block) {
  PackBlock(from, row_stride, rows, count, block);
}

void PackBf16Block(const uint16_t* from, int64_t row_stride, int64_t rows, int64_t count,
                   uint8_t* block) {
  PackBlock(from, row_stride, rows, count, block);
}

void PackBf16Step(const float* from, int64_t ld, int64_t rows, int64_t columns, uint8_t* to) {
  PackStep(from, ld, rows, columns, to);
}

void PackBf16Step(const uint16_t* from, int64_t ld, int64_t rows, int64_t columns, uint8_t* to) {
  PackStep(from, ld, rows, columns, to);
}

namespace {

// Transposes 16 x 16 words of 32 bits: pairs, then fours, of words within 128 bits, then these.
ATTNRUN_AMX inline void TransposeWords(__m512i (&rows)[16]) {
  __m512i pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  __m512i fours[16];
  for (int i = 0; i < 16; i += 4) {
    fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  // fours[4 g + c] holds, in its 128-bit lane l, column 4 l + c of rows 4 g to 4 g + 3.
  for (int c = 0; c < 4; ++c) {
    const __m512i low = _mm512_shuffle_i32x4(fours[c], fours[4 + c], 0x88);
    const __m512i high = _mm512_shuffle_i32x4(fours[8 + c], fours[12 + c], 0x88);
    const __m512i low_odd = _mm512_shuffle_i32x4(fours[c], fours[4 + c], 0xDD);
    const __m512i high_odd = _mm512_shuffle_i32x4(fours[8 + c], fours[12 + c], 0xDD);
    rows[c] = _mm512_shuffle_i32x4(low, high, 0x88);
    rows[4 + c] = _mm512_shuffle_i32x4(low_odd, high_odd, 0x88);
    rows[8 + c] = _mm512_shuffle_i32x4(low, high, 0xDD);
    rows[12 + c] = _mm512_shuffle_i32x4(low_odd, high_odd, 0xDD);
  }
}

template <typename T>
ATTNRUN_AMX void PackTransposedStep(const T* from, int64_t row_stride, int64_t count, int64_t depth,
                                    uint8_t* to) {
  for (int64_t column = 0; column < kAmxPanelWidth; column += 16, to += kAmxStepBytes) {
    __m512i rows[16];
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t row = column + i;
      rows[i] = row < count ? LoadHalves(from + row * row_stride, depth) : _mm512_setzero_si512();
    }
    TransposeWords(rows);
    for (int64_t i = 0; i < 16; ++i) {
      _mm512_storeu_si512(to + i * 2 * kAmxStepBytes, rows[i]);
    }
  }
}

}  // namespace

void PackBf16TransposedStep(const float* from, int64_t row_stride, int64_t count, int64_t first,
                            int64_t depth, uint8_t* to) {
  PackTransposedStep(from + first, row_stride, count, depth - first, to);
}

void PackBf16TransposedStep(const uint16_t* from, int64_t row_stride, int64_t count, int64_t first,
                            int64_t depth, uint8_t* to) {
  PackTransposedStep(from + first, row_stride, count, depth - first, to);
}

}  // namespace attnrun::ops
