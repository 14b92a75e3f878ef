// SPDX-License-Identifier: Apache-2.0
#include "bench/unit_loops.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace attnrun::bench {
namespace {

// Enough independent chains to fill two pipelines of latency 5 or 6.
constexpr int kChains = 12;

// Rows of a tile, and bytes of such a row.
constexpr int kTileRows = 16;
constexpr int kTileBytes = 64;
// Four tiles of operands: two of A and two of B.
constexpr int kOperands = 4;

// The memory operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> bytes = {};
  std::array<uint8_t, 16> rows = {};
};
static_assert(sizeof(TileConfig) == 64);

// Numbers of bfloat16 between 0.5 and 1, which are bytes as well: zeros would need less power, and
// let the processor run faster than it does on numbers of a model.
struct alignas(64) Operands {
  Operands() {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0x3F00 | (i * 37 & 0x7F);
  }
  const uint16_t* Tile(int index) const {
    return numbers.data() + index * kTileRows * kTileBytes / 2;
  }

  std::array<uint16_t, size_t{kOperands} * kTileRows * kTileBytes / 2> numbers = {};
};

bool HasBits(unsigned leaf, unsigned subleaf, int index, unsigned mask) {
  std::array<unsigned, 4> registers = {};
  return __get_cpuid_count(leaf, subleaf, registers.data(), &registers[1], &registers[2],
                           &registers[3]) != 0 &&
         (registers[index] & mask) == mask;
}

bool AskForTiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  constexpr unsigned kTypes = 1U << 22 | 1U << 24 | 1U << 25;
  return HasBits(7, 0, 3, kTypes) && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Tiles have no values that a compiler could see, so it cannot leave their products out.
#define ATTNRUN_MULTIPLY_TILES(multiply)             \
  TileConfig config;                                 \
  for (int tile = 0; tile < 8; ++tile) {             \
    config.bytes[tile] = kTileBytes;                 \
    config.rows[tile] = kTileRows;                   \
  }                                                  \
  _tile_loadconfig(&config);                         \
  static const Operands operands;                    \
  _tile_zero(0);                                     \
  _tile_zero(1);                                     \
  _tile_zero(2);                                     \
  _tile_zero(3);                                     \
  for (int64_t round = 0; round < rounds; ++round) { \
    _tile_loadd(4, operands.Tile(0), kTileBytes);    \
    _tile_loadd(6, operands.Tile(2), kTileBytes);    \
    multiply(0, 4, 6);                               \
    _tile_loadd(5, operands.Tile(1), kTileBytes);    \
    multiply(1, 5, 6);                               \
    _tile_loadd(7, operands.Tile(3), kTileBytes);    \
    multiply(2, 4, 7);                               \
    multiply(3, 5, 7);                               \
  }                                                  \
  _tile_release()

// Four products of tiles, each with 16 x 16 sums of as many products as a row has numbers.
double TileOperations(int64_t rounds, int numbers) {
  return 2.0 * 4 * kTileRows * kTileRows * numbers * static_cast<double>(rounds);
}

}  // namespace

bool HasAmx() {
  static const bool has = AskForTiles();
  return has;
}

bool HasAvx512Bf16() { return __builtin_cpu_supports("avx512bf16") != 0; }
bool HasAvx512Vnni() { return __builtin_cpu_supports("avx512vnni") != 0; }

// The instructions of vectors are written out, because GCC copies the sums of the intrinsic ones in
// every round, and leaves out sums that nobody reads.
__attribute__((target("avx512f,avx512bf16"))) double MultiplyBf16Vectors(int64_t rounds) {
  __m512 sums[kChains] = {};
  const __m512i factor = _mm512_set1_epi16(0x3F80);  // 1
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(factor));
  }
  return 2.0 * kChains * 32 * static_cast<double>(rounds);
}

__attribute__((target("avx512f,avx512vnni"))) double MultiplyInt8Vectors(int64_t rounds) {
  __m512i sums[kChains] = {};
  const __m512i factor = _mm512_set1_epi8(1);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (__m512i& sum : sums) asm volatile("vpdpbusd %1, %1, %0" : "+v"(sum) : "v"(factor));
  }
  return 2.0 * kChains * 64 * static_cast<double>(rounds);
}

__attribute__((target("amx-tile,amx-bf16"))) double MultiplyBf16Tiles(int64_t rounds) {
  ATTNRUN_MULTIPLY_TILES(_tile_dpbf16ps);
  return TileOperations(rounds, 32);
}

__attribute__((target("amx-tile,amx-int8"))) double MultiplyInt8Tiles(int64_t rounds) {
  ATTNRUN_MULTIPLY_TILES(_tile_dpbusd);
  return TileOperations(rounds, 64);
}

}  // namespace attnrun::bench
