// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/attnrun/fma_peak.cc"
#include "hwy/foreach_target.h"
// Highway requires this after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::cli::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent chains to fill two pipelines of latency 4 or 5.
constexpr int kChains = 12;

// Runs `rounds` times kChains multiply-adds of one vector. Returns the number of operations.
double MultiplyAdd(int64_t rounds) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  hn::Vec<decltype(d)> chains[kChains];
  // Chains start with different values, or the compiler would merge them.
  for (int i = 0; i < kChains; ++i) chains[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(12)
    for (int i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], factor, factor);
  }
  for (int i = 1; i < kChains; ++i) chains[0] = hn::Add(chains[0], chains[i]);
  hwy::PreventElision(hn::GetLane(chains[0]));
  return 2.0 * kChains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

const char* IsaName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace attnrun::cli::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/parallel.h"

namespace attnrun::cli {
namespace {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(IsaName);

}  // namespace

double MeasureFmaRate() {
  constexpr int64_t kRounds = 100'000;
  std::atomic<double> operations = 0;
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(NumThreads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      operations += HWY_DYNAMIC_DISPATCH(MultiplyAdd)(kRounds);
    }
  });
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return operations / time.count();
}

FmaPeak MeasureFmaPeak(int threads) {
  // The first tries warm the units up, and some are interrupted.
  constexpr int kTries = 200;
  SetNumThreads(threads);
  double best = 0;
  for (int i = 0; i < kTries; ++i) best = std::max(best, MeasureFmaRate());
  return {best * 1e-9, HWY_DYNAMIC_DISPATCH(IsaName)()};
}

}  // namespace attnrun::cli
#endif  // HWY_ONCE
