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

// Measured now, with `threads` threads, in about 0.1 s.
FmaPeak MeasureFmaPeak(int threads);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_FMA_PEAK_H_
