// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "bench/gemm_benches.h"
#include "bench/onednn_gemm.h"
#include "bench/turns.h"
#include "ops/gemm/gemm.h"
#include "tools/attnrun/fma_peak.h"
#include "tools/attnrun/read_bandwidth.h"

// GEMM on packed float32 weights next to oneDNN's, as shares of the machine's limits. All of them
// take turns within a benchmark, and the best turn of each counts, so that other load on the
// machine affects them alike.
namespace attnrun::bench {
namespace {

std::vector<float> RandomFloats(int64_t count) {
  static std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return uniform(generator); });
  return values;
}

Product Attnrun(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c) {
  auto packed = ops::PackedMatrix::Pack({b, k, n, n}).value();
  return [=] { ops::Gemm({a, m, k, k}, *packed, c, n, {}); };
}

}  // namespace

void Float32Gemm(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  const std::vector<float> a = RandomFloats(m * k);
  const std::vector<float> b = RandomFloats(k * n);
  std::vector<float> c(m * n);
  const Product products[] = {Attnrun(m, k, n, a.data(), b.data(), c.data()),
                              OneDnnMatmul(m, k, n, a.data(), b.data(), c.data()),
                              OneDnnBrgemm(m, k, n, a.data(), b.data(), c.data())};
  constexpr int kOneDnnMatmul = 1;
  double best[] = {1, 1, 1};
  double peak = 0;
  for (auto unused : state) {
    // The first measurement wakes the threads.
    for (int i = 0; i < 3; ++i) peak = std::max(peak, cli::MeasureFmaRate());
    for (int i = 0; i < 3; ++i) {
      if (products[i] == nullptr) continue;
      best[i] = std::min(best[i], SecondsOfTurn(products[i]));
      if (i == kOneDnnMatmul) LetThemSleep();
    }
    state.SetIterationTime(best[0]);
  }
  const double operations = 2.0 * static_cast<double>(m * k) * static_cast<double>(n);
  state.counters["GFLOP/s"] = operations / best[0] * 1e-9;
  state.counters["peak"] = peak * 1e-9;
  state.counters["share"] = operations / best[0] / peak;
  state.counters["onednn_share"] = operations / best[1] / peak;
  if (products[2] != nullptr) state.counters["brgemm_share"] = operations / best[2] / peak;
}

void Float32Gemv(benchmark::State& state) {
  constexpr int64_t kBytes = int64_t{1} << 28;
  const int64_t k = state.range(0);
  const int64_t n = state.range(1);
  const auto bytes = static_cast<double>(k * n * sizeof(float));
  const std::vector<float> a = RandomFloats(k);
  std::vector<float> c(n);
  std::vector<Product> ours;
  std::vector<Product> theirs;
  for (int64_t used = 0; used < kBytes / 2; used += static_cast<int64_t>(bytes)) {
    const std::vector<float> b = RandomFloats(k * n);
    ours.push_back(Attnrun(1, k, n, a.data(), b.data(), c.data()));
    theirs.push_back(OneDnnMatmul(1, k, n, a.data(), b.data(), c.data()));
  }
  const std::vector<float> other(kBytes / sizeof(float) / 2);
  const auto all = [](const std::vector<Product>& products) {
    return SecondsOf([&] {
      for (const Product& product : products) product();
    });
  };
  double best = std::numeric_limits<double>::max();
  double onednn = best;
  double bandwidth = 0;
  for (auto unused : state) {
    bandwidth = std::max(bandwidth, cli::MeasureReadBandwidth(other.data(), kBytes / 2));
    best = std::min(best, all(ours) / static_cast<double>(ours.size()));
    onednn = std::min(onednn, all(theirs) / static_cast<double>(theirs.size()));
    LetThemSleep();
    state.SetIterationTime(best);
  }
  state.counters["GB/s"] = bytes / best * 1e-9;
  state.counters["read_GB/s"] = bandwidth * 1e-9;
  state.counters["share"] = bytes / best / bandwidth;
  state.counters["onednn_share"] = bytes / onednn / bandwidth;
}

}  // namespace attnrun::bench
