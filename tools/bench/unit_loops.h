// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_UNIT_LOOPS_H_
#define ATTNRUN_TOOLS_BENCH_UNIT_LOOPS_H_

#include <cstdint>

// Loops that keep one unit busy on the thread that calls them. Each returns the number of its
// operations, and needs a processor that has the unit.
namespace attnrun::bench {

// True if the processor has tiles with both types and the operating system lets this process use
// them, which it asks for.
bool HasAmx();
bool HasAvx512Bf16();
bool HasAvx512Vnni();

double MultiplyBf16Vectors(int64_t rounds);
double MultiplyInt8Vectors(int64_t rounds);
double MultiplyBf16Tiles(int64_t rounds);
double MultiplyInt8Tiles(int64_t rounds);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_UNIT_LOOPS_H_
