// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "bench/unit_peaks.h"
#include "core/parallel.h"
#include "nlohmann/json.hpp"
#include "tools/attnrun/read_bandwidth.h"

// Prints this machine's limits as JSON: machine_peaks [THREADS]. Rates in 10^9 per second, null for
// units that are missing; tools/bench/peaks.py reads them.
namespace attnrun::bench {
namespace {

constexpr int kTries = 150;

// Units take turns, so that other load on the machine affects all alike.
nlohmann::ordered_json UnitRates() {
  std::map<Unit, double> best;
  for (int i = 0; i < kTries; ++i) {
    for (const Unit unit : kUnits) {
      const std::optional<double> rate = MeasureRate(unit);
      if (rate.has_value()) best[unit] = std::max(best[unit], *rate);
    }
  }
  nlohmann::ordered_json rates;
  for (const Unit unit : kUnits) {
    rates[NameOf(unit)] = best.contains(unit) ? nlohmann::ordered_json(best[unit] * 1e-9) : nullptr;
  }
  return rates;
}

nlohmann::ordered_json Bandwidth(int threads) {
  constexpr double kMebi = 1 << 20;
  return {{"read_gb_per_s", cli::MeasureMemoryBandwidth(threads) * 1e-9},
          {"buffer_mib", static_cast<double>(cli::BandwidthBufferBytes()) / kMebi},
          {"l3_mib", static_cast<double>(cli::LastCacheBytes()) / kMebi}};
}

void Print(int threads) {
  SetNumThreads(threads);
  nlohmann::ordered_json report = {{"threads", threads}};
  report["gflops"] = UnitRates();
  report["memory"] = Bandwidth(threads);
  std::cout << report.dump() << "\n";
}

}  // namespace
}  // namespace attnrun::bench

int main(int argc, char** argv) {
  int threads = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const bool are_numbers = argc < 2 || absl::SimpleAtoi(argv[1], &threads);
  if (argc > 2 || !are_numbers || threads < 1) {
    std::cerr << "usage: machine_peaks [THREADS]\n";
    return 2;
  }
  try {
    attnrun::bench::Print(threads);
  } catch (const std::exception& error) {
    std::cerr << "machine_peaks: " << error.what() << "\n";
    return 1;
  }
}
