// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "attnrun/tensor.h"
#include "bench/gemm_benches.h"
#include "bench/onednn_brgemm.h"
#include "bench/turns.h"
#include "bench/unit_peaks.h"
#include "ops/gemm/bf16_amx.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/gemm/int8_panels.h"
#include "ops/tensors/cpu.h"
#include "ops/tensors/half.h"

// Products of operands below float32 next to oneDNN's, as shares of the peak of the fastest unit
// for them. All of them take turns within a benchmark, and the best turn of each counts.
namespace attnrun::bench {
namespace {

template <typename T>
std::vector<T> Random(int64_t count, auto draw) {
  static std::mt19937 generator(1);
  std::vector<T> values(count);
  std::generate(values.begin(), values.end(), [&] { return static_cast<T>(draw(generator)); });
  return values;
}

struct Sides {
  // Null for none.
  Product ours;
  Product onednn;
};

// The rate of the first of `units` that the processor has, or 0.
double RateOf(std::initializer_list<Unit> units) {
  for (const Unit unit : units) {
    if (const std::optional<double> rate = MeasureRate(unit)) return *rate;
  }
  return 0;
}

// Reports GFLOP/s and shares of the peak of both sides.
void Compare(benchmark::State& state, const Sides& sides, std::initializer_list<Unit> units) {
  if (sides.ours == nullptr && sides.onednn == nullptr) {
    state.SkipWithError("neither attnrun nor oneDNN has this product for this processor");
    return;
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double ours = kNever;
  double onednn = kNever;
  double peak = 0;
  for (auto unused : state) {
    // The first measurement wakes the threads.
    for (int i = 0; i < 3; ++i) peak = std::max(peak, RateOf(units));
    if (sides.ours != nullptr) ours = std::min(ours, SecondsOfTurn(sides.ours));
    if (sides.onednn != nullptr) onednn = std::min(onednn, SecondsOfTurn(sides.onednn));
    state.SetIterationTime(std::min(ours, onednn));
  }
  const double operations = 2.0 * static_cast<double>(state.range(0) * state.range(1)) *
                            static_cast<double>(state.range(2));
  state.counters["peak"] = peak * 1e-9;
  const auto report = [&](const char* rate, const char* share, double seconds) {
    if (seconds == kNever) return;
    state.counters[rate] = operations / seconds * 1e-9;
    if (peak > 0) state.counters[share] = operations / seconds / peak;
  };
  report("GFLOP/s", "share", ours);
  report("brgemm_GFLOP/s", "brgemm_share", onednn);
}

Tensor BorrowedBytes(DataType type, int64_t rows, int64_t columns, const void* bytes) {
  return Tensor::Borrow(type, {rows, columns}, bytes, rows * columns, nullptr).value();
}

Product Attnrun(int64_t m, int64_t k, int64_t n, const uint8_t* a, const int8_t* b, int32_t* c) {
  const Tensor weights = BorrowedBytes(DataType::kInt8, k, n, b);
  const ops::Int8Matrix part = {.values = &weights, .rows = k, .columns = n};
  auto packed = ops::Int8Panels::Pack({&part, 1}, Allocator::Heap()).value();
  ops::Int8Epilogue sums;
  sums.sums = c;
  return [=, left = BorrowedBytes(DataType::kUint8, m, k, a)] {
    const ops::Int8Rows rows = {.values = &left, .rows = m, .columns = k, .zero_points = {}};
    // It fails if memory runs out, alone.
    ops::Int8Gemm(rows, *packed, sums);
  };
}

// The product of bf16 numbers on AMX; null without it. A is rounded already, as it is for oneDNN.
Product AttnrunBf16(int64_t m, int64_t k, int64_t n, const uint16_t* a, const uint16_t* b,
                    float* c) {
  if (!ops::ThisCpu().amx_bf16) return nullptr;
  std::vector<float> weights(k * n);
  ops::WidenBf16(b, k * n, weights.data());
  const ops::KernelContext context = {{}, Precision::kBfloat16, nullptr};
  auto packed = ops::PackedMatrix::Pack({weights.data(), k, n, n}, context).value();
  return [=] { ops::Bf16GemmOnAmx({{nullptr, m, k, k}, a}, *packed, {c, nullptr, n}, {}); };
}

}  // namespace

void Bf16Gemm(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  // Numbers from 0.5 to 1 in bfloat16.
  std::uniform_int_distribution<int> uniform(0x3F00, 0x3F80);
  const std::vector<uint16_t> a = Random<uint16_t>(m * k, uniform);
  const std::vector<uint16_t> b = Random<uint16_t>(k * n, uniform);
  std::vector<float> c(m * n);
  std::vector<float> d(m * n);
  const Sides sides = {AttnrunBf16(m, k, n, a.data(), b.data(), c.data()),
                       OneDnnBf16Brgemm(m, k, n, a.data(), b.data(), d.data())};
  Compare(state, sides, {Unit::kAmxBf16, Unit::kAvx512Bf16});
  // Sums of up to K products of numbers below 1, in two orders.
  const auto far = [k](float x, float y) {
    return std::fabs(x - y) > static_cast<float>(k) * 0x1p-24F * static_cast<float>(k);
  };
  if (sides.ours != nullptr && sides.onednn != nullptr &&
      !std::equal(c.begin(), c.end(), d.begin(), std::not_fn(far))) {
    state.SkipWithError("the sums differ");
  }
}

// Exact sums of uint8 activations times int8 weights, which both sides compute alike.
void Int8Gemm(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  const std::vector<uint8_t> a = Random<uint8_t>(m * k, std::uniform_int_distribution<int>(0, 255));
  // Bell-shaped, as weights of models are.
  std::normal_distribution<float> normal(0, 30);
  const std::vector<int8_t> b = Random<int8_t>(k * n, [&](auto& generator) {
    return std::clamp(std::round(normal(generator)), -127.F, 127.F);
  });
  std::vector<int32_t> c(m * n);
  std::vector<int32_t> d(m * n);
  const Sides sides = {Attnrun(m, k, n, a.data(), b.data(), c.data()),
                       OneDnnInt8Brgemm(m, k, n, a.data(), b.data(), d.data())};
  Compare(state, sides, {Unit::kAmxInt8, Unit::kAvx512Vnni});
  if (sides.onednn != nullptr && c != d) state.SkipWithError("the sums differ");
}

}  // namespace attnrun::bench
