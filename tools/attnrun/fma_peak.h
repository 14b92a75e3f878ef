// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_
#define ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_

#include <string>

namespace attnrun::cli {

// The most that this machine's fused multiply-add units do in float32.
struct FmaPeak {
  double gflops = 0;
  // "AVX2" or "AVX3".
  std::string isa;
};

// Floating-point operations per second of independent multiply-adds on registers, float32, on
// NumThreads() threads: one measurement of less than a millisecond, to be repeated beside what it
// is compared with.
double MeasureFmaRate();

// The best of many. Measured now, with `threads` threads, in about 0.1 s.
FmaPeak MeasureFmaPeak(int threads);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_
