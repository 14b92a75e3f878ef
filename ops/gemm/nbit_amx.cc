// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_amx.h"

#include <immintrin.h>

#include <algorithm>

#include "ops/gemm/amx.h"
#include "ops/gemm/amx_target.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/cpu.h"

namespace attnrun::ops {
namespace {

// Columns of a tile of B, and of the sums.
constexpr int64_t kColumns = 16;

// Unpacks a panel's codes as tiles of B: [columns / 16, K / 4, 16 columns, 4 numbers of K],
// `stride` bytes from 16 columns to the next.
//
// The four even codes of each word become one row of a tile, the odd ones the next: values of A lie
// in that order. Without zero points, codes become signed.
ATTNRUN_AMX void Unpack(const NBitPanel& panel, int64_t blocks, uint8_t* tiles, int64_t stride) {
  const NBitFormat& format = panel.format;
  const int64_t width = PanelWidth();
  const int64_t words = format.block / format.codes_per_word();
  const int64_t header = (format.has_zero_points ? 2 : 1) * width * 4;
  const __m512i mask = _mm512_set1_epi8(0x0F);
  const __m512i middle = _mm512_set1_epi8(format.has_zero_points ? 0 : 8);
  for (int64_t block = 0; block < blocks; ++block) {
    const uint8_t* from = panel.data + block * format.block_bytes + header;
    for (int64_t word = 0; word < words; ++word, tiles += 2 * kAmxStepBytes) {
      for (int64_t column = 0; column < width; column += kColumns, from += kAmxStepBytes) {
        const __m512i codes = _mm512_loadu_si512(from);
        const __m512i even = _mm512_and_si512(codes, mask);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(codes, 4), mask);
        uint8_t* const to = tiles + column / kColumns * stride;
        _mm512_store_si512(to, _mm512_sub_epi8(even, middle));
        _mm512_store_si512(to + kAmxStepBytes, _mm512_sub_epi8(odd, middle));
      }
    }
  }
}

// How the sums of a block become floats, for a tile of 16 rows and 16 columns.
struct BlockScales {
  // [blocks, 16]
  const float* row_scales;
  const int32_t* row_sums;
  // In a panel.
  const float* scales;
  const float* zero_points;
};

// totals += (sums - zero points * sums of values) * scales, by the operations of MultiplyRounded.
template <bool kZeros>
ATTNRUN_AMX inline void AddSums(__m512 (&totals)[kAmxRows], const int32_t* sums,
                                const BlockScales& s, int64_t block, int64_t block_floats) {
  const __m512 scales = _mm512_loadu_ps(s.scales + block * block_floats);
  const float* const row_scales = s.row_scales + block * kAmxRows;
  const int32_t* const row_sums = s.row_sums + block * kAmxRows;
#pragma GCC unroll 16
  for (int64_t row = 0; row < kAmxRows; ++row) {
    __m512 x = _mm512_cvtepi32_ps(_mm512_load_si512(sums + row * kColumns));
    if (kZeros) {
      const __m512 zeros = _mm512_loadu_ps(s.zero_points + block * block_floats);
      const auto sum = static_cast<float>(row_sums[row]);
      x = _mm512_fnmadd_ps(zeros, _mm512_set1_ps(sum), x);
    }
    const __m512 factor = _mm512_mul_ps(_mm512_set1_ps(row_scales[row]), scales);
    totals[row] = _mm512_fmadd_ps(x, factor, totals[row]);
  }
}

// Where the blocks of a product lie, one after the other.
struct Blocks {
  // As long as the steps that tiles are configured for, or several of them.
  int64_t size;
  // Tiles of A: [blocks, 16, size].
  const int8_t* a;
  // Tiles of B: [blocks, size / 4, 16, 4].
  const uint8_t* b;
};

// The product of a block in integers. Alternating registers, and sums, let the next block begin
// before this one ends.
template <bool kOdd>
ATTNRUN_AMX inline void MultiplyBlock(const Blocks& blocks, int64_t index, int32_t* sums) {
  const int8_t* a = blocks.a + index * blocks.size * kAmxRows;
  const uint8_t* b = blocks.b + index * blocks.size * kColumns;
  if constexpr (kOdd) {
    _tile_zero(1);
  } else {
    _tile_zero(0);
  }
  for (int64_t k = 0; k < blocks.size; k += kAmxStepBytes) {
    if constexpr (kOdd) {
      _tile_loadd(5, a + k, blocks.size);
      _tile_loadd(7, b + k * kColumns, kAmxStepBytes);
      _tile_dpbssd(1, 5, 7);
    } else {
      _tile_loadd(4, a + k, blocks.size);
      _tile_loadd(6, b + k * kColumns, kAmxStepBytes);
      _tile_dpbssd(0, 4, 6);
    }
  }
  if constexpr (kOdd) {
    _tile_stored(1, sums, kAmxStepBytes);
  } else {
    _tile_stored(0, sums, kAmxStepBytes);
  }
  FinishAccesses();
}

// Up to 16 rows times 16 columns of a panel, whose codes are `tiles`.
template <bool kZeros>
ATTNRUN_AMX void MultiplyTile(const RoundedProduct& p, const uint8_t* tiles, int64_t column) {
  const int64_t width = PanelWidth();
  const int64_t count = p.blocks;
  const int64_t block_floats = p.panel.format.block_bytes / 4;
  const Blocks blocks = {p.panel.format.block, p.a.values, tiles};
  alignas(kAmxStepBytes) int32_t sums[2][kAmxRows * kColumns];
  __m512 totals[kAmxRows];
#pragma GCC unroll 16
  for (int64_t row = 0; row < kAmxRows; ++row) totals[row] = _mm512_setzero_ps();
  const auto* const scales = reinterpret_cast<const float*>(p.panel.data) + column;
  const BlockScales ends = {p.a.scales, p.a.sums, scales, scales + width};
  FinishAccesses();
  MultiplyBlock<false>(blocks, 0, sums[0]);
  int64_t block = 0;
  for (; block + 2 < count; block += 2) {
    MultiplyBlock<true>(blocks, block + 1, sums[1]);
    AddSums<kZeros>(totals, sums[0], ends, block, block_floats);
    MultiplyBlock<false>(blocks, block + 2, sums[0]);
    AddSums<kZeros>(totals, sums[1], ends, block + 1, block_floats);
  }
  const bool is_even = block + 2 == count;
  if (is_even) MultiplyBlock<true>(blocks, block + 1, sums[1]);
  AddSums<kZeros>(totals, sums[0], ends, block, block_floats);
  if (is_even) AddSums<kZeros>(totals, sums[1], ends, block + 1, block_floats);
  const int64_t rows = std::min(p.rows, kAmxRows);
  const int64_t columns = std::min(p.columns - column, kColumns);
  const auto mask = static_cast<__mmask16>((uint32_t{1} << columns) - 1);
#pragma GCC unroll 16
  for (int64_t row = 0; row < kAmxRows; ++row) {
    if (row < rows) _mm512_mask_storeu_ps(p.c + row * p.ldc + column, mask, totals[row]);
  }
}

}  // namespace

int64_t RowsOnAmx(int64_t rows) {
  // Fewer rows take less time without tiles, the first ones because a panel has to be unpacked.
  constexpr int64_t kFewest = 14;
  constexpr int64_t kFewestMore = 8;
  // A test may ask for the panels of older processors.
  const bool has_tiles = ThisCpu().amx_int8 && PanelWidth() % kColumns == 0;
  if (!has_tiles || rows < kFewest) return 0;
  const int64_t rest = rows % kAmxRows;
  return rest < kFewestMore ? rows - rest : rows;
}

void MultiplyRoundedOnAmx(const RoundedProduct& product) {
  const NBitFormat& format = product.panel.format;
  const int64_t stride = product.blocks * format.block * kColumns;
  Scratch scratch;
  auto* const unpacked = scratch.AtLeast<uint8_t>(PanelWidth() / kColumns * stride);
  Unpack(product.panel, product.blocks, unpacked, stride);
  const AmxScope scope(std::min(format.block, kAmxStepBytes));
  const auto multiply = format.has_zero_points ? MultiplyTile<true> : MultiplyTile<false>;
  // The rows of a tile together, so that they are written a few lines at once.
  RoundedProduct tile = product;
  for (; tile.rows > 0; tile.rows -= kAmxRows) {
    for (int64_t column = 0; column < tile.columns; column += kColumns) {
      multiply(tile, unpacked + column / kColumns * stride, column);
    }
    tile.c += kAmxRows * tile.ldc;
    tile.a.values += kAmxRows * tile.blocks * format.block;
    tile.a.scales += kAmxRows * tile.blocks;
    tile.a.sums += kAmxRows * tile.blocks;
  }
}

}  // namespace attnrun::ops
