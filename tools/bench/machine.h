#ifndef ATTNRUN_TOOLS_BENCH_MACHINE_H_
#define ATTNRUN_TOOLS_BENCH_MACHINE_H_

#include <cstddef>

namespace attnrun::bench {

// The limits of this machine as a loop that does nothing else reaches them, on NumThreads()
// threads: each call is one short measurement, to be repeated beside what it is compared with.

// Floating-point operations per second of independent fused multiply-adds on registers, float32.
double MeasureFmaPeak();

// Bytes per second of reading `bytes` bytes at `data` once, from wherever they are.
double MeasureReadBandwidth(const void* data, size_t bytes);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_MACHINE_H_
