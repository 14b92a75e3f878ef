// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/latency.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace attnrun::cli {

absl::Duration Percentile(std::vector<absl::Duration> times, double percent) {
  std::sort(times.begin(), times.end());
  const double position = percent / 100 * static_cast<double>(times.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, times.size() - 1);
  return times[below] + (times[above] - times[below]) * (position - std::floor(position));
}

double PeakMemoryMb() {
  // Does not use getrusage, whose maximum includes the parent process before exec.
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    double kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace attnrun::cli
