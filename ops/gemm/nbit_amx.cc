// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_amx.h"

#include <immintrin.h>

#include <algorithm>

#include "core/div_ceil.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/amx_target.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/cpu.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {
namespace {

// Columns of a tile of B, and of the sums.
constexpr int64_t kColumns = 16;
constexpr int64_t kSumsOfTile = kAmxRows * kColumns;
// Up to as many rows are a tile of their own.
constexpr int kFewAmxRows = 8;

// 16 times each byte, modulo 256.
ATTNRUN_AMX inline __m512i Times16(__m512i bytes) {
  return _mm512_slli_epi16(_mm512_and_si512(bytes, _mm512_set1_epi8(0x0F)), 4);
}

// Some blocks of a panel's codes as tiles of B: [columns / 16, K / 4, 16 columns, 4 numbers of K].
// For few rows as many as stay in the first-level cache until they are multiplied.
struct UnpackedBlocks {
  IndexRange blocks;
  uint8_t* tiles;
  // Bytes from 16 columns to the next.
  int64_t stride;
};

// Unpacks blocks. With kPlanes = 2 the numbers of a block are there twice, first multiplied by 16.
//
// The four even codes of each word become one row of a tile, the odd ones the next: values of A lie
// in that order. Without zero points, codes become signed.
template <int kPlanes>
ATTNRUN_AMX void Unpack(const RoundedProduct& p, const UnpackedBlocks& to) {
  constexpr int64_t kFarAhead = 8 * 1024;
  const NBitFormat& format = p.panel.format;
  const int64_t width = PanelWidth();
  const int64_t words = format.block / format.codes_per_word();
  const int64_t header = (format.has_zero_points ? 2 : 1) * width * 4;
  const int64_t once = format.block * kColumns;
  const uint8_t* const last = p.end - kAmxStepBytes;
  const __m512i mask = _mm512_set1_epi8(0x0F);
  const __m512i middle = _mm512_set1_epi8(format.has_zero_points ? 0 : 8);
  uint8_t* tiles = to.tiles;
  for (int64_t block = to.blocks.begin; block < to.blocks.end; ++block) {
    const uint8_t* from = p.panel.data + block * format.block_bytes + header;
    for (int64_t word = 0; word < words; ++word, tiles += 2 * kAmxStepBytes) {
      for (int64_t column = 0; column < width; column += kColumns, from += kAmxStepBytes) {
        _mm_prefetch(reinterpret_cast<const char*>(std::min(from + kFarAhead, last)), _MM_HINT_T1);
        const __m512i codes = _mm512_loadu_si512(from);
        const __m512i even = _mm512_sub_epi8(_mm512_and_si512(codes, mask), middle);
        const __m512i odd =
            _mm512_sub_epi8(_mm512_and_si512(_mm512_srli_epi16(codes, 4), mask), middle);
        uint8_t* tile = tiles + column / kColumns * to.stride;
        if (kPlanes == 2) {
          _mm512_store_si512(tile, Times16(even));
          _mm512_store_si512(tile + kAmxStepBytes, Times16(odd));
          tile += once;
        }
        _mm512_store_si512(tile, even);
        _mm512_store_si512(tile + kAmxStepBytes, odd);
      }
    }
    tiles += (kPlanes - 1) * once;
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

// The sums of 16 columns: of two planes 4096 times the upper one and the lower one, as Join has it.
template <int kPlanes>
ATTNRUN_AMX inline __m512 LoadSums(const int32_t* sums) {
  const __m512 upper = _mm512_cvtepi32_ps(_mm512_load_si512(sums));
  if (kPlanes == 1) return upper;
  const __m512 lower = _mm512_cvtepi32_ps(_mm512_load_si512(sums + kSumsOfTile));
  return _mm512_fmadd_ps(upper, _mm512_set1_ps(4096), lower);
}

// totals += (sums - zero points * sums of values) * scales, by the operations of MultiplyRounded.
template <int kPlanes, bool kZeros, int kRows>
ATTNRUN_AMX inline void AddSums(__m512 (&totals)[kRows], const int32_t* sums, const BlockScales& s,
                                int64_t block, int64_t block_floats) {
  const __m512 scales = _mm512_loadu_ps(s.scales + block * block_floats);
  const float* const row_scales = s.row_scales + block * kAmxRows;
  const int32_t* const row_sums = s.row_sums + block * kAmxRows;
#pragma GCC unroll 16
  for (int64_t row = 0; row < kRows; ++row) {
    __m512 x = LoadSums<kPlanes>(sums + row * kColumns);
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
  // Bytes of a row: as long as the steps that tiles are configured for, or several of them.
  int64_t size;
  // Tiles of A: [blocks, planes, 16, size].
  const int8_t* a;
  // Tiles of B: [blocks, size / 4, 16, 4].
  const uint8_t* b;
};

// The numbers of tile registers are constants of the instructions, hence macros. Codes times 16 are
// signed only without zero points.
#define ATTNRUN_MULTIPLY_PLANE(sum, plane, a_tile, b_tile)                    \
  _tile_loadd(a_tile, a + k + (plane) * blocks.size * kAmxRows, blocks.size); \
  if constexpr (kZeros) {                                                     \
    _tile_dpbsud(sum, a_tile, b_tile);                                        \
  } else {                                                                    \
    _tile_dpbssd(sum, a_tile, b_tile);                                        \
  }
// A block, whose sums are in the tiles `first` and `second`.
#define ATTNRUN_MULTIPLY_BLOCK(first, second, a_tile, b_tile) \
  _tile_zero(first);                                          \
  if constexpr (kPlanes == 2) _tile_zero(second);             \
  for (int64_t k = 0; k < blocks.size; k += kAmxStepBytes) {  \
    _tile_loadd(b_tile, b + k * kColumns, kAmxStepBytes);     \
    ATTNRUN_MULTIPLY_PLANE(first, 0, a_tile, b_tile)          \
    if constexpr (kPlanes == 2) {                             \
      ATTNRUN_MULTIPLY_PLANE(second, 1, a_tile, b_tile)       \
    }                                                         \
  }                                                           \
  _tile_stored(first, sums, kAmxStepBytes);                   \
  if constexpr (kPlanes == 2) _tile_stored(second, sums + kSumsOfTile, kAmxStepBytes);

// The product of a block in integers. Alternating registers, and sums, let the next block begin
// before this one ends.
template <int kPlanes, bool kZeros, bool kOdd>
ATTNRUN_AMX inline void MultiplyBlock(const Blocks& blocks, int64_t index, int32_t* sums) {
  const int8_t* a = blocks.a + index * blocks.size * kPlanes * kAmxRows;
  const uint8_t* b = blocks.b + index * blocks.size * kColumns;
  if constexpr (kOdd) {
    ATTNRUN_MULTIPLY_BLOCK(1, 3, 5, 7)
  } else {
    ATTNRUN_MULTIPLY_BLOCK(0, 2, 4, 6)
  }
  FinishAccesses();
}

#undef ATTNRUN_MULTIPLY_BLOCK
#undef ATTNRUN_MULTIPLY_PLANE

// Adds the products of kRows rows and 16 columns from `column` on to `totals`, for the blocks that
// are unpacked.
template <int kPlanes, bool kZeros, int kRows>
ATTNRUN_AMX void AddTile(const RoundedProduct& p, const UnpackedBlocks& unpacked, int64_t column,
                         __m512 (&totals)[kRows]) {
  const int64_t begin = unpacked.blocks.begin;
  const int64_t block_floats = p.panel.format.block_bytes / 4;
  const int64_t size = kPlanes * p.panel.format.block;
  const Blocks blocks = {size, p.a.values + begin * kPlanes * size * kAmxRows,
                         unpacked.tiles + column / kColumns * unpacked.stride};
  const auto* const scales =
      reinterpret_cast<const float*>(p.panel.data) + begin * block_floats + column;
  const BlockScales ends = {p.a.scales + begin * kAmxRows, p.a.sums + begin * kAmxRows, scales,
                            scales + PanelWidth()};
  alignas(kAmxStepBytes) int32_t sums[2][kPlanes * kSumsOfTile];
  const auto add = [&](const int32_t* of, int64_t block) ATTNRUN_AMX {
    AddSums<kPlanes, kZeros, kRows>(totals, of, ends, block, block_floats);
  };
  FinishAccesses();
  const int64_t count = unpacked.blocks.size();
  MultiplyBlock<kPlanes, kZeros, false>(blocks, 0, sums[0]);
  int64_t block = 0;
  for (; block + 2 < count; block += 2) {
    MultiplyBlock<kPlanes, kZeros, true>(blocks, block + 1, sums[1]);
    add(sums[0], block);
    MultiplyBlock<kPlanes, kZeros, false>(blocks, block + 2, sums[0]);
    add(sums[1], block + 1);
  }
  const bool is_even = block + 2 == count;
  if (is_even) MultiplyBlock<kPlanes, kZeros, true>(blocks, block + 1, sums[1]);
  add(sums[0], block);
  if (is_even) add(sums[1], block + 1);
}

// The same, with totals in memory: [kRows, PanelWidth()] floats. The last blocks write C.
template <int kPlanes, bool kZeros, int kRows>
ATTNRUN_AMX void MultiplyTile(const RoundedProduct& p, const UnpackedBlocks& unpacked,
                              int64_t column, float* memory) {
  const int64_t width = PanelWidth();
  __m512 totals[kRows];
  const bool is_first = unpacked.blocks.begin == 0;
#pragma GCC unroll 16
  for (int64_t row = 0; row < kRows; ++row) {
    totals[row] = is_first ? _mm512_setzero_ps() : _mm512_load_ps(memory + row * width + column);
  }
  AddTile<kPlanes, kZeros, kRows>(p, unpacked, column, totals);
  if (unpacked.blocks.end < p.blocks) {
#pragma GCC unroll 16
    for (int64_t row = 0; row < kRows; ++row) {
      _mm512_store_ps(memory + row * width + column, totals[row]);
    }
    return;
  }
  const int64_t rows = std::min<int64_t>(p.rows, kRows);
  const int64_t columns = std::min(p.columns - column, kColumns);
  const auto mask = static_cast<__mmask16>((uint32_t{1} << columns) - 1);
#pragma GCC unroll 16
  for (int64_t row = 0; row < kRows; ++row) {
    if (row < rows) _mm512_mask_storeu_ps(p.c + row * p.ldc + column, mask, totals[row]);
  }
}

// All rows times the blocks that are unpacked; `totals` are those of the first row.
template <int kPlanes, int kRows>
void MultiplyUnpacked(const RoundedProduct& product, const UnpackedBlocks& unpacked,
                      float* totals) {
  const bool zeros = product.panel.format.has_zero_points;
  const auto multiply =
      zeros ? MultiplyTile<kPlanes, true, kRows> : MultiplyTile<kPlanes, false, kRows>;
  const int64_t in_tile = kAmxRows * product.blocks;
  // The rows of a tile together, so that they are written a few lines at once.
  for (RoundedProduct tile = product; tile.rows > 0; tile.rows -= kRows) {
    for (int64_t column = 0; column < tile.columns; column += kColumns) {
      multiply(tile, unpacked, column, totals);
    }
    totals += kRows * PanelWidth();
    tile.c += kRows * tile.ldc;
    tile.a.values += in_tile * kPlanes * kPlanes * tile.panel.format.block;
    tile.a.scales += in_tile;
    tile.a.sums += in_tile;
  }
}

template <int kPlanes>
void MultiplyOnAmx(const RoundedProduct& p) {
  // Many rows gain more if their sums go to memory and back less often.
  const int64_t unpacked_bytes = p.rows <= 2 * kAmxRows ? 16 << 10 : 96 << 10;
  const int64_t size = kPlanes * p.panel.format.block;
  const int64_t block_bytes = PanelWidth() * size;
  const int64_t together = std::clamp<int64_t>(unpacked_bytes / block_bytes, 1, p.blocks);
  // Half as many rows take half the time.
  const bool are_few = p.rows <= kFewAmxRows;
  const auto multiply =
      are_few ? MultiplyUnpacked<kPlanes, kFewAmxRows> : MultiplyUnpacked<kPlanes, kAmxRows>;
  Scratch scratch[2];
  auto* const totals =
      scratch[0].AtLeast<float>(DivCeil(p.rows, kAmxRows) * kAmxRows * PanelWidth());
  UnpackedBlocks unpacked = {{}, scratch[1].AtLeast<uint8_t>(together * block_bytes), 0};
  const AmxScope scope(std::min(size, kAmxStepBytes), are_few ? kFewAmxRows : kAmxRows);
  for (int64_t block = 0; block < p.blocks; block += together) {
    unpacked.blocks = {block, std::min(block + together, p.blocks)};
    unpacked.stride = unpacked.blocks.size() * size * kColumns;
    Unpack<kPlanes>(p, unpacked);
    multiply(p, unpacked, totals);
  }
}

}  // namespace

int64_t RowsOnAmx(int64_t rows, int64_t digits) {
  // Fewer rows take less time without tiles, the first ones because a panel has to be unpacked.
  const int64_t fewest = digits == 1 ? 14 : 6;
  const int64_t fewest_more = digits == 1 ? 8 : 7;
  // A test may ask for the panels of older processors.
  const bool has_tiles = ThisCpu().amx_int8 && PanelWidth() % kColumns == 0;
  if (!has_tiles || rows < fewest) return 0;
  const int64_t rest = rows % kAmxRows;
  return rest < fewest_more ? rows - rest : rows;
}

void MultiplyRoundedOnAmx(const RoundedProduct& product) { MultiplyOnAmx<1>(product); }

void MultiplyBlockFloatOnAmx(const RoundedProduct& product) { MultiplyOnAmx<2>(product); }

}  // namespace attnrun::ops
