// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_LATENCY_H_
#define ATTNRUN_TOOLS_ATTNRUN_LATENCY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace attnrun::cli {

// The time that `percent` of the runs did not exceed, interpolated linearly between the two nearest
// runs, like NumPy's default. Precondition: `times` is not empty; 0 <= percent <= 100.
absl::Duration Percentile(std::vector<absl::Duration> times, double percent);

// The most physical memory that this process has used at once, in MiB; 0 if unknown.
double PeakMemoryMb();

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_LATENCY_H_
