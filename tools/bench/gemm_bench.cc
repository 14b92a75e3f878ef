// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iostream>
#include <string_view>

#include "bench/gemm_benches.h"
#include "benchmark/benchmark.h"

// Products on packed weights: gemm_bench [--type float32|bf16|int8] [OPTIONS OF GOOGLE BENCHMARK].
namespace attnrun::bench {
namespace {

constexpr int64_t kShapes[][2] = {{384, 1152}, {384, 1536}, {1536, 384}, {768, 2304},
                                  {768, 3072}, {3072, 768}, {1024, 1024}};

// The benchmarks of one type of operands.
struct Benches {
  std::string_view type;
  const char* name;
  void (*gemm)(benchmark::State&);
  // Null if there is none.
  void (*gemv)(benchmark::State&);
};

constexpr Benches kBenches[] = {{"float32", "Gemm", Float32Gemm, Float32Gemv},
                                {"bf16", "Bf16Gemm", Bf16Gemm, nullptr},
                                {"int8", "Int8Gemm", Int8Gemm, nullptr}};

void Register(const Benches& benches) {
  for (const auto& [k, n] : kShapes) {
    if (benches.gemv != nullptr) {
      benchmark::RegisterBenchmark("Gemv", benches.gemv)
          ->ArgNames({"K", "N"})
          ->Args({k, n})
          ->UseManualTime()
          ->Iterations(15)
          ->Unit(benchmark::kMicrosecond);
    }
    for (const int64_t m : {16, 128, 512}) {
      benchmark::RegisterBenchmark(benches.name, benches.gemm)
          ->ArgNames({"M", "K", "N"})
          ->Args({m, k, n})
          ->UseManualTime()
          ->Iterations(100)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

// True if the type is known; its benchmarks are registered then.
bool RegisterType(std::string_view type) {
  for (const Benches& benches : kBenches) {
    if (benches.type != type) continue;
    Register(benches);
    return true;
  }
  std::cerr << "gemm_bench: no type '" << type << "': float32, bf16 or int8\n";
  return false;
}

// Takes "--type NAME" or "--type=NAME" out of the arguments.
std::string_view TakeType(int& argc, char** argv) {
  constexpr std::string_view kJoined = "--type=";
  std::string_view type = "float32";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kJoined)) {
      type = argument.substr(kJoined.size());
    } else if (argument == "--type" && i + 1 < argc) {
      type = argv[++i];
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return type;
}

}  // namespace
}  // namespace attnrun::bench

int main(int argc, char** argv) {
  const std::string_view type = attnrun::bench::TakeType(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (!attnrun::bench::RegisterType(type)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
