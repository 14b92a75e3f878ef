// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_UNIT_PEAKS_H_
#define ATTNRUN_TOOLS_BENCH_UNIT_PEAKS_H_

#include <array>
#include <cstdint>
#include <optional>

// The most that each unit of the processor gives, which shares of peak refer to.
namespace attnrun::bench {

// A unit that multiplies and adds.
enum class Unit {
  // float32, with the widest vectors that attnrun uses.
  kFma,
  // Pairs of bfloat16, summed in float32 (VDPBF16PS).
  kAvx512Bf16,
  // Groups of four bytes, summed in int32 (VPDPBUSD).
  kAvx512Vnni,
  // Tiles of bfloat16 and of bytes.
  kAmxBf16,
  kAmxInt8,
};

inline constexpr std::array kUnits = {Unit::kFma, Unit::kAvx512Bf16, Unit::kAvx512Vnni,
                                      Unit::kAmxBf16, Unit::kAmxInt8};

// "fma_float32", "avx512_bf16", "avx512_vnni", "amx_bf16" or "amx_int8".
const char* NameOf(Unit unit);

// Operations per second on NumThreads() threads, a multiplication and an addition being two, with
// operands in registers (tiles: in the first-level cache, since a product of tiles reads two for
// each two that it multiplies). Null if the processor or its operating system lacks the unit. One
// measurement takes about a millisecond; repeat it next to the measurement that it is compared
// with.
std::optional<double> MeasureRate(Unit unit);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_UNIT_PEAKS_H_
