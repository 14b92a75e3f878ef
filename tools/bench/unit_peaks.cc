// SPDX-License-Identifier: Apache-2.0
#include "bench/unit_peaks.h"

#include <atomic>
#include <chrono>

#include "bench/unit_loops.h"
#include "core/parallel.h"
#include "tools/attnrun/fma_peak.h"

namespace attnrun::bench {
namespace {

// A loop of one unit, and its rounds in about half a millisecond.
struct Loop {
  double (*run)(int64_t rounds) = nullptr;
  int64_t rounds = 0;
};

// `run` is null if the unit is missing.
Loop LoopOf(Unit unit) {
  constexpr int64_t kVectorRounds = 100'000;
  constexpr int64_t kTileRounds = 20'000;
  switch (unit) {
    case Unit::kFma:
      break;
    case Unit::kAvx512Bf16:
      if (HasAvx512Bf16()) return {MultiplyBf16Vectors, kVectorRounds};
      break;
    case Unit::kAvx512Vnni:
      if (HasAvx512Vnni()) return {MultiplyInt8Vectors, kVectorRounds};
      break;
    case Unit::kAmxBf16:
      if (HasAmx()) return {MultiplyBf16Tiles, kTileRounds};
      break;
    case Unit::kAmxInt8:
      if (HasAmx()) return {MultiplyInt8Tiles, kTileRounds};
      break;
  }
  return {};
}

}  // namespace

const char* NameOf(Unit unit) {
  switch (unit) {
    case Unit::kFma:
      return "fma_float32";
    case Unit::kAvx512Bf16:
      return "avx512_bf16";
    case Unit::kAvx512Vnni:
      return "avx512_vnni";
    case Unit::kAmxBf16:
      return "amx_bf16";
    case Unit::kAmxInt8:
      return "amx_int8";
  }
  return "";
}

std::optional<double> MeasureRate(Unit unit) {
  if (unit == Unit::kFma) return cli::MeasureFmaRate();
  const Loop loop = LoopOf(unit);
  if (loop.run == nullptr) return std::nullopt;
  std::atomic<double> operations = 0;
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(NumThreads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) operations += loop.run(loop.rounds);
  });
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return operations / time.count();
}

}  // namespace attnrun::bench
