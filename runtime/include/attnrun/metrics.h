// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_METRICS_H_
#define ATTNRUN_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace attnrun {

// Counts of durations by size: bucket i has those below UpperBound(i) and not below the bound
// before.
struct LatencyHistogram {
  static constexpr size_t kBuckets = 32;

  std::array<int64_t, kBuckets> counts = {};
  absl::Duration sum;

  // 1 microsecond, 2, 4, ...; the last bucket has no bound.
  static absl::Duration UpperBound(size_t bucket) {
    return bucket + 1 < kBuckets ? absl::Microseconds(int64_t{1} << bucket)
                                 : absl::InfiniteDuration();
  }
};

// A session's counts since it was loaded. They are read one after the other while runs go on, so
// that they may differ by the runs that ended meanwhile.
struct SessionMetrics {
  // Runs that ended: those that succeeded, and the others by their error. MeasurePrecision counts
  // as a run.
  int64_t succeeded = 0;
  int64_t cancelled = 0;
  int64_t deadline_exceeded = 0;
  // Refused because too many waited; see Limits::waiting_runs.
  int64_t refused = 0;
  // Other errors.
  int64_t failed = 0;

  // Now: runs that wait for others, of this session alone, and those that compute.
  int64_t waiting = 0;
  int64_t running = 0;

  // From the call to the result, of the runs that succeeded, and the part of it that they waited.
  LatencyHistogram latency;
  LatencyHistogram wait;

  // In bytes: memory for intermediate tensors and outputs that runs have now (with what earlier
  // runs left for the next), and the most that they had at once.
  int64_t arena_bytes = 0;
  int64_t arena_peak_bytes = 0;
  // The model's constants as they are in its files, or as the optimizer made them. Packed weights,
  // which sessions of one model share, come on top, and their size is about that of the constants
  // of products.
  int64_t constant_bytes = 0;
};

}  // namespace attnrun

#endif  // ATTNRUN_METRICS_H_
