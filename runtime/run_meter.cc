// SPDX-License-Identifier: Apache-2.0
#include "run_meter.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/bits.h"

namespace attnrun {

void RunMeter::Run::BeginWait(RunMeter& meter) {
  wait_start_ = Clock::now();
  waits_ = true;
  Add(meter.waiting_, 1);
}

void RunMeter::Run::EndWait(RunMeter& meter) {
  if (!std::exchange(waits_, false)) return;
  waited_ = Clock::now() - wait_start_;
  Add(meter.waiting_, -1);
}

void RunMeter::End(const Run& run, absl::StatusCode code) {
  Add(CounterOf(code), 1);
  if (code != absl::StatusCode::kOk) return;
  latency_.Count(Run::Clock::now() - run.start_);
  wait_.Count(run.waited_);
}

RunMeter::Counter& RunMeter::CounterOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return succeeded_;
    case absl::StatusCode::kCancelled:
      return cancelled_;
    case absl::StatusCode::kDeadlineExceeded:
      return deadline_exceeded_;
    case absl::StatusCode::kUnavailable:
      return refused_;
    default:
      return failed_;
  }
}

void RunMeter::Read(SessionMetrics& metrics) const {
  metrics.succeeded = succeeded_.load(std::memory_order_relaxed);
  metrics.cancelled = cancelled_.load(std::memory_order_relaxed);
  metrics.deadline_exceeded = deadline_exceeded_.load(std::memory_order_relaxed);
  metrics.refused = refused_.load(std::memory_order_relaxed);
  metrics.failed = failed_.load(std::memory_order_relaxed);
  metrics.waiting = waiting_.load(std::memory_order_relaxed);
  metrics.running = running_.load(std::memory_order_relaxed);
  metrics.latency = latency_.Read();
  metrics.wait = wait_.Read();
}

// Bucket i has the times of i bits in microseconds.
void RunMeter::Histogram::Count(std::chrono::nanoseconds time) {
  const auto microseconds = static_cast<uint64_t>(std::max<int64_t>(time.count(), 0)) / 1000;
  const size_t bits = absl::bit_width(microseconds);
  Add(counts_[std::min(bits, LatencyHistogram::kBuckets - 1)], 1);
  Add(nanoseconds_, time.count());
}

LatencyHistogram RunMeter::Histogram::Read() const {
  LatencyHistogram histogram;
  for (size_t i = 0; i < counts_.size(); ++i) {
    histogram.counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  histogram.sum = absl::Nanoseconds(nanoseconds_.load(std::memory_order_relaxed));
  return histogram;
}

}  // namespace attnrun
