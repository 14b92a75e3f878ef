// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/attention/streaming_attention.h"
#include "tools/attnrun/fma_peak.h"

// Measures how much time masks save. Attention with a mask and the same attention without one take
// turns within a benchmark, and the best turn of each counts, so that other load on the machine
// affects both alike.
namespace attnrun::bench {
namespace {

constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = 64;

// Packed Q, K and V, as a projection produces them, and memory for masks of each form.
struct Attention {
  Attention(int64_t batch, int64_t length)
      : qkv(batch * length * 3 * kHeads * kHeadSize), y(batch * length * kHeads * kHeadSize) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::generate(qkv.begin(), qkv.end(), [&] { return uniform(generator); });
    problem.batch = batch;
    problem.query_heads = problem.kv_heads = kHeads;
    problem.queries = problem.keys = length;
    problem.head_size = problem.value_size = kHeadSize;
    const int64_t width = 3 * kHeads * kHeadSize;
    problem.q = qkv.data();
    problem.k = problem.q + width / 3;
    problem.v = problem.k + width / 3;
    problem.q_strides = {.batch = length * width, .sequence = width, .head = kHeadSize};
    problem.k_strides = problem.v_strides = problem.q_strides;
    problem.y = y.data();
    problem.y_strides = {.batch = length * width / 3, .sequence = width / 3, .head = kHeadSize};
    problem.scale = 0.125F;
  }

  std::vector<float> qkv;
  std::vector<float> y;
  std::vector<float> bias;
  std::unique_ptr<bool[]> mask;
  ops::AttentionProblem problem;
};

double SecondsOf(const ops::AttentionProblem& problem) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = ops::StreamingAttention(problem, Allocator::Heap());
  benchmark::DoNotOptimize(status.ok());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// `open` is the share of the tiles' work that the mask leaves; its inverse is the upper limit of
// `gain`.
void Compare(benchmark::State& state, const Attention& plain, const Attention& masked,
             double open) {
  // Both use the same data, so that it is equally far in cache for both.
  ops::AttentionProblem same = masked.problem;
  same.q = plain.problem.q;
  same.k = plain.problem.k;
  same.v = plain.problem.v;
  same.y = plain.problem.y;
  double best[] = {1, 1};
  double peak = 0;
  for (auto unused : state) {
    peak = std::max(peak, cli::MeasureFmaRate());
    best[0] = std::min(best[0], SecondsOf(plain.problem));
    best[1] = std::min(best[1], SecondsOf(same));
    state.SetIterationTime(best[1]);
  }
  const auto operations = static_cast<double>(ops::AttentionFlops(plain.problem));
  state.counters["plain_us"] = best[0] * 1e6;
  state.counters["plain_share"] = operations / best[0] / peak;
  state.counters["gain"] = best[0] / best[1];
  state.counters["limit"] = 1 / open;
}

// Range: length.
void Causal(benchmark::State& state) {
  const int64_t length = state.range(0);
  const Attention plain(1, length);
  Attention masked(1, length);
  masked.problem.causal = true;
  Compare(state, plain, masked, 0.5 + 0.5 / static_cast<double>(length));
}

// Range: length. The same mask as a bias, as some exporters write it.
void CausalBias(benchmark::State& state) {
  const int64_t length = state.range(0);
  const Attention plain(1, length);
  Attention masked(1, length);
  masked.bias.assign(length * length, 0.0F);
  for (int64_t s = 0; s < length; ++s) {
    std::fill(masked.bias.begin() + s * length + s + 1, masked.bias.begin() + (s + 1) * length,
              -3.4028235e38F);
  }
  masked.problem.bias = {masked.bias.data(), 0, 0, length, 1};
  Compare(state, plain, masked, 0.5 + 0.5 / static_cast<double>(length));
}

// Range: length, left window.
void Window(benchmark::State& state) {
  const int64_t length = state.range(0);
  const Attention plain(1, length);
  Attention masked(1, length);
  masked.problem.causal = true;
  masked.problem.left_window = state.range(1) - 1;
  Compare(state, plain, masked, static_cast<double>(state.range(1)) / static_cast<double>(length));
}

// 16 samples of 16 to 128 keys, padded to 128 keys by a mask. Range: 0 for a bool mask, 1 for a
// bias.
void Padded(benchmark::State& state) {
  constexpr int64_t kBatch = 16;
  constexpr int64_t kLength = 128;
  const Attention plain(kBatch, kLength);
  Attention masked(kBatch, kLength);
  masked.mask = std::make_unique<bool[]>(kBatch * kLength);
  masked.bias.resize(kBatch * kLength);
  int64_t keys = 0;
  for (int64_t i = 0; i < kBatch * kLength; ++i) {
    masked.mask[i] = i % kLength < 16 + i / kLength * 112 / (kBatch - 1);
    masked.bias[i] = masked.mask[i] ? 0.0F : -3.4028235e38F;
    keys += masked.mask[i] ? 1 : 0;
  }
  if (state.range(0) == 0) {
    masked.problem.mask = {masked.mask.get(), kLength, 0, 0, 1};
  } else {
    masked.problem.bias = {masked.bias.data(), kLength, 0, 0, 1};
  }
  Compare(state, plain, masked, static_cast<double>(keys) / (kBatch * kLength));
}

void Register(const std::string& name, void (*function)(benchmark::State&),
              const std::vector<std::string>& names,
              const std::vector<std::vector<int64_t>>& ranges) {
  for (const std::vector<int64_t>& range : ranges) {
    benchmark::RegisterBenchmark(name, function)
        ->ArgNames(names)
        ->Args(range)
        ->UseManualTime()
        ->Iterations(60)
        ->Unit(benchmark::kMicrosecond);
  }
}

void RegisterAll() {
  Register("Causal", Causal, {"length"}, {{128}, {512}, {1024}});
  Register("CausalBias", CausalBias, {"length"}, {{512}, {1024}});
  Register("Window", Window, {"length", "window"}, {{1024, 128}});
  Register("Padded", Padded, {"bias"}, {{0}, {1}});
}

}  // namespace
}  // namespace attnrun::bench

int main(int argc, char** argv) {
  attnrun::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
