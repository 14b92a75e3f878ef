#include "bench/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough chains to fill two pipelines of latency 4 or 5.
constexpr int kChains = 12;

// `rounds` times kChains multiply-adds of one vector each. Returns their number of operations.
double MultiplyAdd(int64_t rounds) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  hn::Vec<decltype(d)> chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(12)
    for (int i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], factor, factor);
  }
  for (int i = 1; i < kChains; ++i) chains[0] = hn::Add(chains[0], chains[i]);
  hwy::PreventElision(hn::GetLane(chains[0]));
  return 2.0 * kChains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

void Read(const float* data, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d);
  auto b = a;
  auto e = a;
  auto f = a;
  for (size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, data + i));
    b = hn::Add(b, hn::LoadU(d, data + i + lanes));
    e = hn::Add(e, hn::LoadU(d, data + i + 2 * lanes));
    f = hn::Add(f, hn::LoadU(d, data + i + 3 * lanes));
  }
  hwy::PreventElision(hn::GetLane(hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

}  // namespace attnrun::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <atomic>
#include <chrono>

#include "core/parallel.h"

namespace attnrun::bench {
namespace {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(Read);

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

double MeasureFmaPeak() {
  constexpr int64_t kRounds = 100000;
  std::atomic<double> operations = 0;
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(NumThreads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      operations += HWY_DYNAMIC_DISPATCH(MultiplyAdd)(kRounds);
    }
  });
  return operations / Seconds(std::chrono::steady_clock::now() - start);
}

double MeasureReadBandwidth(const void* data, size_t bytes) {
  const auto* floats = static_cast<const float*>(data);
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(static_cast<int64_t>(bytes / sizeof(float)), 1, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Read)(floats + begin, end - begin);
  });
  return static_cast<double>(bytes) / Seconds(std::chrono::steady_clock::now() - start);
}

}  // namespace attnrun::bench
#endif  // HWY_ONCE
