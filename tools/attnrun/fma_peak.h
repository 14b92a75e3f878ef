// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_
#define ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_

#include <string>

namespace attnrun::cli {

// The peak rate of this machine's fused multiply-add units in float32.
struct FmaPeak {
  double gflops = 0;
  // "AVX2" or "AVX3".
  std::string isa;
};

// Floating-point operations per second of independent float32 multiply-adds on registers, on
// NumThreads() threads. One measurement takes less than a millisecond; repeat it next to the
// measurement that it is compared with.
double MeasureFmaRate();

// The best of many measurements with `threads` threads, which take about 0.1 s.
FmaPeak MeasureFmaPeak(int threads);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_
