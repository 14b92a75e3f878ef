#include "tools/attnrun/fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/attnrun/fma_peak.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::cli::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Runs independent chains of multiply-adds, enough of them to hide the latency of two units.
// Returns the number of floating-point operations; `sink` keeps the compiler from dropping them.
double MultiplyAdds(int rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 0.001F);
  auto a0 = term, a1 = term, a2 = term, a3 = term, a4 = term;
  auto a5 = term, a6 = term, a7 = term, a8 = term, a9 = term;
  for (int i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, factor, term);
    a1 = hn::MulAdd(a1, factor, term);
    a2 = hn::MulAdd(a2, factor, term);
    a3 = hn::MulAdd(a3, factor, term);
    a4 = hn::MulAdd(a4, factor, term);
    a5 = hn::MulAdd(a5, factor, term);
    a6 = hn::MulAdd(a6, factor, term);
    a7 = hn::MulAdd(a7, factor, term);
    a8 = hn::MulAdd(a8, factor, term);
    a9 = hn::MulAdd(a9, factor, term);
  }
  const auto low = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), a4);
  const auto high = hn::Add(hn::Add(hn::Add(a5, a6), hn::Add(a7, a8)), a9);
  *sink = hn::ReduceSum(d, hn::Add(low, high));
  return 2.0 * 10 * rounds * static_cast<double>(hn::Lanes(d));
}

const char* IsaName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace attnrun::cli::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "core/parallel.h"

namespace attnrun::cli {
namespace {

HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(IsaName);

// The best of many short tries: the first ones warm the units up, some are interrupted.
double BestGflops(float* sink) {
  constexpr int kRounds = 50'000;
  constexpr int kTries = 500;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double flops = HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kRounds, sink);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::max(best, flops / time.count() / 1e9);
  }
  return best;
}

}  // namespace

FmaPeak MeasureFmaPeak(int threads) {
  SetNumThreads(threads);
  std::vector<float> sinks(threads);
  std::vector<double> gflops(threads);
  ParallelFor(threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) gflops[i] = BestGflops(&sinks[i]);
  });
  return {std::accumulate(gflops.begin(), gflops.end(), 0.0), HWY_DYNAMIC_DISPATCH(IsaName)()};
}

}  // namespace attnrun::cli
#endif  // HWY_ONCE
